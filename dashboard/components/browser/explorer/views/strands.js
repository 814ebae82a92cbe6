// The pairs of a head that are drawn as lines, and what several queries read together. Only numbers, no pixels.

import { share } from "../../colour.js"
import { LOST_MOST } from "../../matrix.js"

export const FAINTEST = 0.02  // as a share of full colour: what is less has no line
const MOST = 2000  // lines of one head; where there would be more, the strongest
const BINS = 256
const FADED = 1 / 3

const made = new WeakMap()

// Every pair with a line, the strongest last, and how many there would be without a limit.
export function strands(numbers, state) {
  if (!made.has(numbers)) made.set(numbers, {})
  const ways = made.get(numbers)
  return (ways[state.scale] ??= strongest(numbers, state))
}

// Where a number stands on its scale: the opacity and the width of its line.
export function partOf(numbers, value, { scale }) {
  return share(value, numbers, scale === "log")
}

// The pairs of some rows, or of a column.
export function strandsOf(numbers, state, { rows, column }) {
  const found = []
  for (const row of rows ?? numbers.queries.keys()) {
    if (column !== undefined) add(found, numbers, state, row, column)
    else for (let key = 0; key < numbers.keys.length; key++) add(found, numbers, state, row, key)
  }
  return sorted(found)
}

function add(found, numbers, state, row, column) {
  const value = numbers.cells[row * numbers.keys.length + column]
  const part = partOf(numbers, value, state)
  if (part >= FAINTEST) found.push({ row, column, value, part, opacity: part * faded(numbers, row) })
}

function sorted(found) {
  return found.sort((one, other) => one.part - other.part)
}

// Rows that lost most of their weight to hidden tokens are drawn faint.
export function faded(numbers, row) {
  return numbers.removed?.[row] > LOST_MOST ? FADED : 1
}

// Counted before any is kept: of 512 tokens there are a quarter of a million.
function strongest(numbers, state) {
  const parts = partsOf(numbers, state)
  const bin = (part) => Math.min(BINS - 1, Math.floor(part * BINS))
  const counts = new Uint32Array(BINS)
  for (const part of parts) if (part >= FAINTEST) counts[bin(part)]++
  let limit = BINS, above = 0
  while (limit > 0 && above + counts[limit - 1] <= MOST) above += counts[--limit]
  const alike = limit > 0 ? counts[limit - 1] : 0, room = MOST - above  // at the limit some are drawn, from all over
  const found = []
  let met = 0
  for (let i = 0; i < parts.length; i++) {
    if (!(parts[i] >= FAINTEST) || bin(parts[i]) < limit - 1) continue
    if (bin(parts[i]) === limit - 1 && Math.floor((met * room) / alike) === Math.floor((++met * room) / alike)) continue
    add(found, numbers, state, Math.floor(i / numbers.keys.length), i % numbers.keys.length)
  }
  return { strands: sorted(found), all: counts.reduce((sum, count) => sum + count, 0) }
}

// The same as partOf() for every cell, quickly; what is under the scale is not raised to 0.
function partsOf(numbers, { scale }) {
  const { cells, low, high } = numbers, parts = new Float64Array(cells.length)
  if (scale === "log") return parts.map((_, i) => share(cells[i], numbers, true))
  const range = high > low ? high - low : Infinity
  for (let i = 0; i < cells.length; i++) parts[i] = Math.min(1, (cells[i] - low) / range)
  return parts
}

const JOINED = {
  mean: (values) => values.reduce((sum, value) => sum + value, 0) / values.length,
  min: (values) => Math.min(...values),
  product: (values) => values.reduce((product, value) => product * value, 1),
}

// Of each key, what the rows give it together; not-a-number where it is blocked for all of them. Where it is blocked for
// one, that one's weight is 0; a score there is none, and none is joined.
export function joint({ cells, keys, quantity }, rows, way) {
  return Array.from(keys, (_, column) => {
    const values = rows.map((row) => cells[row * keys.length + column])
    const allowed = values.filter((value) => value === value)
    if (!allowed.length || (quantity === "score" && allowed.length < values.length)) return NaN
    return JOINED[way](values.map((value) => (value === value ? value : 0)))
  })
}
