// A pattern as squares of colour: rows are queries, columns are keys. Pictures with one or several of them use this.

import { pixels, readable, share, signedPixels } from "./colour.js"
import { textWidth } from "./draw.js"
import { number } from "./parts.js"
import { direction, fitted, shown } from "./words.js"

const MOST_LABELS = 60
const SLANT = Math.SQRT1_2  // of labels at 45 degrees
const LABEL_PITCH = 14  // pixels between two labels at least
const LONGEST_LABEL = 132
const GAPS_FROM = 9  // pixels of a cell's side
const NUMBERS_FROM = { width: 33, height: 17 }
// Which numbers are written into their cells: from which share of full colour on; in letters how large at most.
const NUMBERED = { least: 0.3, size: 12, digits: 2 }
export const LOST_MOST = 0.8  // of a row's weight, to tokens that are hidden

// numbers: { queries, keys, special, cells, low, high, removed }, as Python's numbers.py makes them; `most` in place of
// low and high: cells have a sign, and their colours reach so far on both sides of 0.
// box: what it may fill. numbered: see NUMBERED. zoom: null, or { rows: [from, to], columns: [from, to] }.
export function matrix({ numbers, palette, box, zoom, state, titles, marked = [], hovered, size = 13, numbered = NUMBERED }) {
  const { cells } = numbers
  const total = totals(numbers), window = numbers.window ?? { rows: [0, total.rows], columns: [0, total.columns] }
  const seen = zoom ?? { rows: [0, total.rows], columns: [0, total.columns] }
  const style = { size, mono: true }
  const measure = (text) => textWidth(text, style)
  const name = (label) => fitted(shown(label, state), LONGEST_LABEL, measure)
  const { row: widestRow, column: across } = widest(numbers, state, size, (label) => measure(name(label)))
  const left = widestRow + 34
  const upright = across + 8 <= (box.width - left) / total.columns
  const apart = Math.min(LABEL_PITCH, size + 1)
  const slanted = ((box.width - left - across * SLANT) / total.columns) * SLANT >= apart
  const steep = !upright && (total.columns > 24 || !slanted)
  const top = (upright ? size + 8 : steep ? across + 8 : across * SLANT + size) + 24
  const spill = upright || steep ? 4 : across * SLANT  // of the last slanted label, to the right
  const plot = { x: box.x + left, y: box.y + top, width: box.width - left - spill, height: box.height - top - size / 2 }
  const side = { x: plot.width / (seen.columns[1] - seen.columns[0]), y: plot.height / (seen.rows[1] - seen.rows[0]) }
  const place = { x: (column) => plot.x + (column - seen.columns[0]) * side.x, y: (row) => plot.y + (row - seen.rows[0]) * side.y }

  const log = state.scale === "log"
  const faded = numbers.removed ? [...numbers.removed.keys()].filter((row) => numbers.removed[row] > LOST_MOST) : null
  const [rows, columns] = numbers.bins ?? [total.rows, total.columns]
  const inside = [{
    type: "cells", x: place.x(window.columns[0]), y: place.y(window.rows[0]),
    width: side.x * (window.columns[1] - window.columns[0]), height: side.y * (window.rows[1] - window.rows[0]),
    rows, columns,
    pixels: numbers.most === undefined ? pixels(cells, numbers, palette, log, faded, columns) : signedPixels(cells, numbers.most, palette),
  }]
  const exact = rows === window.rows[1] - window.rows[0] && columns === window.columns[1] - window.columns[0]
  if (exact && Math.min(side.x, side.y) >= GAPS_FROM) inside.push(...grid(seen, place, plot, palette))
  if (exact && side.x >= NUMBERS_FROM.width && side.y >= NUMBERS_FROM.height) {
    inside.push(...values({ ...numbers, columns, window }, seen, place, side, palette, log, numbered))
  }
  for (const [row, column] of marked) {
    inside.push({ type: "rect", x: place.x(column), y: place.y(row), width: side.x, height: side.y, stroke: palette.text, lineWidth: 2.5 })
  }
  const bold = hovered ?? {}
  const row = (index, text) => ({
    type: "text", x: plot.x - 8, y: place.y(index + 0.5), text, anchor: "end", bold: bold.row === index,
    ...style, ...token(numbers.special?.queries[index], text, palette, state),
  })
  const column = (index, text) => ({
    type: "text", x: place.x(index + 0.5), y: plot.y - 8 - (upright ? size / 2 : 0), text, anchor: upright ? "middle" : "start",
    angle: upright ? 0 : steep ? -90 : -45, bold: bold.column === index, ...style, ...token(numbers.special?.keys[index], text, palette, state),
  })
  const items = [
    { type: "group", clip: plot, items: inside },
    { type: "rect", ...plot, stroke: palette.blocked },
    { type: "text", x: plot.x + plot.width / 2, y: box.y + 8, text: titles.keys, anchor: "middle", size: 12.5, fill: palette.faint },
    { type: "text", x: box.x + 8, y: plot.y + plot.height / 2, text: titles.queries, anchor: "middle", size: 12.5, fill: palette.faint, angle: -90 },
    ...labelled(total.rows, seen.rows, side.y, apart, bold.row, !numbers.queries).map((index) => row(index, name(labelOf(numbers, "row", index)))),
    ...labelled(total.columns, seen.columns, upright || steep ? side.x : side.x * SLANT, apart, bold.column, !numbers.keys).map((index) => column(index, name(labelOf(numbers, "column", index)))),
  ]
  const at = (x, y) => {
    if (x < plot.x || y < plot.y || x >= plot.x + plot.width || y >= plot.y + plot.height) return null
    return { row: Math.floor(seen.rows[0] + (y - plot.y) / side.y), column: Math.floor(seen.columns[0] + (x - plot.x) / side.x) }
  }
  return { items, at, plot, seen, slanted: !upright && !steep }
}

// How many queries and keys there are, in view or not.
export function totals(numbers) {
  return { rows: numbers.total?.[0] ?? numbers.queries.length, columns: numbers.total?.[1] ?? numbers.keys.length }
}

// What a row or a column is called: its token, or where it stands in a text too long for names.
export function labelOf(numbers, side, index) {
  const [labels, first] = side === "row" ? [numbers.queries, numbers.window?.rows[0] ?? 0] : [numbers.keys, numbers.window?.columns[0] ?? 0]
  return labels?.[index - first] ?? (index + 1).toLocaleString("en")
}

const widths = new WeakMap()  // by the numbers: measured once, not with every movement

function widest(numbers, state, size, measure) {
  const way = `${state.spaces} ${size}`
  if (widths.get(numbers)?.way !== way) {
    const most = (labels, total) => (labels ?? [total.toLocaleString("en")]).reduce((wide, label) => Math.max(wide, measure(label)), 0)
    const total = totals(numbers)
    widths.set(numbers, { way, row: most(numbers.queries, total.rows), column: most(numbers.keys, total.columns) })
  }
  return widths.get(numbers)
}

export function token(special, text, palette, state) {
  return { fill: special && state.special === "dimmed" ? palette.faint : palette.text, opacity: special && state.special === "dimmed" ? 0.6 : 1, direction: direction(text) }
}

// Which places have a label: all that are in view, or every second, third … and the last; and the one pointed at.
// Where they are called by their numbers, those with round ones.
function labelled(length, [from, to], pitch, apart, pointed, numbered) {
  const first = Math.max(0, Math.ceil(from - 0.5)), last = Math.min(length, Math.floor(to + 0.5)) - 1
  const least = Math.max(1, Math.ceil(apart / pitch), Math.ceil((last - first + 1) / MOST_LABELS))
  const places = numbered ? roundNumbers(first, last, least) : []
  if (!numbered) {
    for (let index = Math.ceil(first / least) * least; index <= last - least; index += least) places.push(index)
    places.push(last)
  }
  if (pointed === undefined || places.includes(pointed)) return places
  return [...places.filter((index) => Math.abs(index - pointed) * pitch >= apart), pointed]
}

// Places from first to last, at least so far apart, whose numbers (one more) are multiples of 1, 2, 5, 10, 20, 50 …; and 1.
function roundNumbers(first, last, apart) {
  const ten = 10 ** Math.floor(Math.log10(apart)), step = ten * [1, 2, 5, 10].find((times) => ten * times >= apart)
  const places = first === 0 && step > apart ? [0] : []
  for (let number = Math.ceil((first + 1) / step) * step; number <= last + 1; number += step) places.push(number - 1)
  return places
}

function grid(seen, place, plot, palette) {
  const lines = [], style = { stroke: palette.blocked, lineWidth: 1 }
  for (let column = Math.ceil(seen.columns[0]); column < seen.columns[1]; column++) {
    lines.push({ type: "line", x1: place.x(column), x2: place.x(column), y1: plot.y, y2: plot.y + plot.height, ...style })
  }
  for (let row = Math.ceil(seen.rows[0]); row < seen.rows[1]; row++) {
    lines.push({ type: "line", y1: place.y(row), y2: place.y(row), x1: plot.x, x2: plot.x + plot.width, ...style })
  }
  return lines
}

// The large numbers, written into their cells.
function values({ cells, columns, window, low, high, most }, seen, place, side, palette, log, numbered) {
  const written = [], size = Math.max(NUMBERED.size, Math.min(numbered.size, side.y * 0.5, side.x / 3.2))
  const within = (edges, whole) => [Math.max(whole[0], Math.floor(edges[0])), Math.min(whole[1], Math.ceil(edges[1]))]
  const [top, bottom] = within(seen.rows, window.rows), [left, right] = within(seen.columns, window.columns)
  for (let row = top; row < bottom; row++) {
    for (let column = left; column < right; column++) {
      const value = cells[(row - window.rows[0]) * columns + column - window.columns[0]]
      const part = most === undefined ? share(value, { low, high }, log) : share(Math.abs(value), { low: 0, high: most })
      if (!(part >= numbered.least)) continue
      const fill = readable(part, value < 0 && most !== undefined ? { ...palette, strong: palette.negative } : palette)
      written.push({ type: "text", x: place.x(column + 0.5), y: place.y(row + 0.5), text: number(value, numbered.digits), size, anchor: "middle", fill })
    }
  }
  return written
}
