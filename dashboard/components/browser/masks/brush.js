// A stroke of the brush over a mask. The first place that it touches says whether it blocks or unblocks, and whether it
// goes over cells, or over the tokens of rows or of columns.

import { covers, current, isAbout, placeOf } from "./edits.js"

export class Stroke {
  // shown: { numbers, mask, taken }, as the editor drew them. cell: { row, column }, one of them alone for a token.
  constructor(state, shown, cell) {
    const { mask, taken, numbers: { given } } = shown, touched = places(cell, shown)
    this.over = over(cell)
    const whole = this.over !== "cell" && touched.some((place) => given[place] !== -Infinity)
    const opened = (place) => (whole || given[place] !== -Infinity ? given[place] : 0)
    const unblocks = touched.every((place) => mask[place] === -Infinity || taken[place])
    this.puts = state.brush === "number" ? () => state.amount : unblocks ? opened : () => -Infinity
  }

  // What stands in the cells of a place now: [row, column, value] each. A value of null blocks, undefined leaves the cell
  // to the rest of the rule. Nothing while it stays where it was.
  touch(state, shown, cell) {
    const same = this.last?.row === cell.row && this.last?.column === cell.column
    if (over(cell) !== this.over || same) return []
    this.last = cell
    const columns = shown.numbers.keys.length, given = leftAlone(state) ? shown.numbers.given : null
    return places(cell, shown).map((place) => {
      const value = this.puts(place)
      const put = given?.[place] === value ? undefined : value === -Infinity ? null : value
      return [Math.floor(place / columns), place % columns, put]
    })
  }
}

function over({ row, column }) {
  return row === undefined ? "column" : column === undefined ? "row" : "cell"
}

function places({ row, column }, { numbers: { queries, keys } }) {
  const rows = row === undefined ? [...queries.keys()] : [row], columns = column === undefined ? [...keys.keys()] : [column]
  return rows.flatMap((one) => columns.map((other) => one * keys.length + other))
}

// Whether a cell without an edit has what was given.
function leftAlone(state) {
  const { own, presets } = current(state), place = placeOf(state)
  return own && !presets.length && !state.edits.some((one) => covers(one, place) && !isAbout(one, place))
}
