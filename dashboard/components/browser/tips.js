// What is said beside the pointer: lines of a name and a value.

import { labelOf } from "./matrix.js"

const DIGITS = 4

export function valueName(state, words) {
  if (state.scale === "score") return words["hover.score"]
  return words[state.measure === "norm" ? "hover.norm" : "hover.weight"]
}

export function cellTip(numbers, { row, column }, state, words) {
  const value = numbers.cells[row * numbers.keys.length + column]
  return [
    [words["hover.query"], labelOf(numbers, "row", row)],
    [words["hover.key"], labelOf(numbers, "column", column)],
    Number.isNaN(value) ? [words["hover.blocked"], ""] : [valueName(state, words), value.toFixed(DIGITS)],
  ]
}

// The same for a bin, which may hold several cells.
export function binTip(numbers, { row, column }, state, words) {
  const { window, bins } = numbers
  const down = binOf(row, window.rows, bins[0]), across = binOf(column, window.columns, bins[1])
  if (!down || !across) return null
  const value = numbers.cells[down.bin * bins[1] + across.bin]
  const span = (side, { from, to }) => (to - from === 1 ? labelOf(numbers, side, from) : `${from + 1}–${to}`)
  const one = down.to - down.from === 1 && across.to - across.from === 1
  const name = one ? valueName(state, words) : `${valueName(state, words)}, ${words[`pool.${numbers.pool}`]}`
  return [
    [words["hover.query"], span("row", down)],
    [words["hover.key"], span("column", across)],
    Number.isNaN(value) ? [words["hover.blocked"], ""] : [name, value.toFixed(DIGITS)],
  ]
}

// The bin that a row or column lies in: bins begin where Python's bin_edges puts them.
function binOf(index, [begin, end], bins) {
  if (index < begin || index >= end) return null
  const edge = (bin) => begin + Math.floor((bin * (end - begin)) / bins)
  let bin = Math.floor(((index - begin) * bins) / (end - begin))
  while (edge(bin + 1) <= index) bin++
  while (edge(bin) > index) bin--
  return { bin, from: edge(bin), to: edge(bin + 1) }
}
