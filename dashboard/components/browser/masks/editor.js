// The mask of one head, to be painted in: what is added to its scores, and what is blocked.

import { matrix, labelOf } from "../matrix.js"
import { number } from "../parts.js"

// mask, taken: what is shown of the numbers' own, or what they will be.
export function editor({ numbers, mask, taken, state, width, height, palette, words, run, hovered }) {
  const cells = Float32Array.from(mask, (value) => (value === -Infinity ? NaN : value))
  const most = Math.max(1e-6, ...cells.filter((value) => value === value).map(Math.abs))
  const shownAs = { spaces: true, special: "shown", scale: "linear" }
  const drawn = matrix({
    numbers: { ...numbers, cells, most }, palette, state: shownAs, hovered, zoom: null,
    box: { x: 0, y: 0, width, height }, titles: run.axes(state.kind, words), marked: state.pair ? [state.pair] : [],
  })
  const at = (x, y) => {
    const cell = drawn.at(x, y) ?? labelled(drawn, numbers, x, y)
    return cell && { hovered: cell, tip: tip(numbers, mask, taken, cell, words), cell }
  }
  return { items: [...drawn.items, ...struck(taken, numbers, drawn, palette)], at, mask, taken, plot: drawn.plot, slanted: drawn.slanted }
}

// A row or a column, where the pointer is at its token. Slanted ones lean to the right.
function labelled({ plot, slanted }, { queries, keys }, x, y) {
  const foot = slanted && y < plot.y ? x - (plot.y - y) : x
  const row = Math.floor(((y - plot.y) / plot.height) * queries.length), column = Math.floor(((foot - plot.x) / plot.width) * keys.length)
  if (x < plot.x && row >= 0 && row < queries.length) return { row }
  if (y < plot.y && column >= 0 && column < keys.length) return { column }
  return null
}

// Weights that were set to 0 after the softmax are struck through.
function struck(taken, { queries, keys }, { plot }, palette) {
  const side = { x: plot.width / keys.length, y: plot.height / queries.length }, lines = []
  for (let i = 0; i < taken.length; i++) {
    if (!taken[i]) continue
    const x = plot.x + (i % keys.length) * side.x, y = plot.y + Math.floor(i / keys.length) * side.y
    lines.push({ type: "line", x1: x, y1: y, x2: x + side.x, y2: y + side.y, stroke: palette.text, lineWidth: 1.5 })
  }
  return lines
}

function tip(numbers, mask, taken, { row, column }, words) {
  if (row === undefined) return [[words["hover.key"], labelOf(numbers, "column", column)], [words["masks.tip.column"], ""]]
  if (column === undefined) return [[words["hover.query"], labelOf(numbers, "row", row)], [words["masks.tip.row"], ""]]
  const place = row * numbers.keys.length + column, value = mask[place]
  return [
    [words["hover.query"], labelOf(numbers, "row", row)],
    [words["hover.key"], labelOf(numbers, "column", column)],
    value === -Infinity ? [words["hover.blocked"], ""] : taken[place] ? [words["masks.tip.taken"], ""] : [words["masks.tip.added"], number(value)],
  ]
}
