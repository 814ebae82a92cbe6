// Edits as the state holds them: which heads, and what becomes of their mask. A value of null blocks a cell.

const BLANK = { own: true, combined: "all", presets: [], runs: [], renormalise: true }

// Which heads an edit of this scope is about.
export function placeOf({ kind, layer, head, scope }) {
  return { kind, layer: scope === "all" ? null : layer, head: scope === "head" ? head : null }
}

// The edit of the chosen scope; one that changes nothing where none was made.
export function current(state) {
  const place = placeOf(state)
  return state.edits.find((one) => isAbout(one, place)) ?? { ...place, ...BLANK }
}

// All edits, with changes to the one of the chosen scope. Wider ones come first, so that narrower ones have the last word.
export function changed(state, changes) {
  const place = placeOf(state), edit = { ...current(state), ...changes }
  const others = state.edits.filter((one) => !isAbout(one, place))
  return (blank(edit) ? others : [...others, edit]).sort((one, other) => width(other) - width(one))
}

// All edits, with cells set in the one of the chosen scope; narrower ones leave these cells to it.
export function brushed(state, cells) {
  const place = placeOf(state), left = cells.map(([row, column]) => [row, column, undefined])
  const edits = changed(state, { runs: withCells(current(state).runs, cells) })
  return edits
    .map((one) => (covers(place, one) && !isAbout(place, one) ? { ...one, runs: withCells(one.runs, left) } : one))
    .filter((one) => !blank(one))
}

// Which limit is passed, by name; none for undefined.
export function tooMany(edits, limits) {
  const cells = edits.flatMap(({ runs }) => runs).reduce((sum, [, first, last]) => sum + last - first + 1, 0)
  return edits.length > limits.edits ? "edits" : cells > limits.cells ? "cells" : undefined
}

// Runs with some cells set, or left to the rest of the rule where the value is undefined.
export function withCells(runs, cells) {
  const values = new Map()
  for (const [row, first, last, value] of runs) {
    for (let column = first; column <= last; column++) values.set(`${row} ${column}`, [row, column, value])
  }
  for (const [row, column, value] of cells) {
    if (value === undefined) values.delete(`${row} ${column}`)
    else values.set(`${row} ${column}`, [row, column, value])
  }
  return together([...values.values()])
}

// Cells as runs: side by side, of one value.
export function together(cells) {
  const runs = []
  for (const [row, column, value] of cells.sort((one, other) => one[0] - other[0] || one[1] - other[1])) {
    const last = runs.at(-1)
    if (last && last[0] === row && last[2] === column - 1 && last[3] === value) last[2] = column
    else runs.push([row, column, column, value])
  }
  return runs
}

// The mask of a head, and which weights are taken away after the softmax, with the cells of its edits already in them,
// for as long as Python has not said so.
export function patched(numbers, edits, { kind, layer, head }) {
  const columns = numbers.keys.length, rows = numbers.queries.length
  const mask = Float32Array.from(numbers.mask), taken = Uint8Array.from(numbers.taken)
  for (const { runs, renormalise } of edits.filter((one) => covers(one, { kind, layer, head }))) {
    for (const [row, first, last, value] of runs) {
      for (let column = first; row < rows && column <= Math.min(last, columns - 1); column++) {
        const place = row * columns + column
        taken[place] = !renormalise && value === null && mask[place] !== -Infinity
        if (!taken[place]) mask[place] = value ?? -Infinity
      }
    }
  }
  return { mask, taken }
}

// Whether an edit, or a place, is about all that another one is about.
export function covers(one, other) {
  return one.kind === other.kind && [null, other.layer].includes(one.layer) && [null, other.head].includes(one.head)
}

// Whether an edit is about just this place.
export function isAbout(one, other) {
  return ["kind", "layer", "head"].every((name) => one[name] === other[name])
}

function blank({ own, presets, runs, renormalise }) {
  return own && renormalise && !presets.length && !runs.length
}

const width = ({ layer, head }) => (layer === null ? 2 : 0) + (head === null ? 1 : 0)
