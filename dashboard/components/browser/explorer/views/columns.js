// Two columns of tokens, queries left and keys right: where everything stands, and which tokens have a label.

import { textWidth } from "../../draw.js"
import { token as tokenStyle } from "../../matrix.js"
import { fitted, shown } from "../../words.js"

const TOP = 26, BOTTOM = 24  // of titles, and of a line of notes
const PITCH = 52  // pixels from row to row at most
const TEXT = { least: 9, most: 14 }
const APART = 1.15  // lines of text between two labels, as a multiple of the text's size
const WIDEST_LABEL = 0.22  // of the picture's width
const FIGURE = 44  // pixels of a column of numbers
const FIGURES = 0.36  // of the picture's width at most
const GAP = 8

// heads: how many are drawn at once; each has a column of numbers if there is room, else they share one.
export function columns({ numbers, state, width, height, heads }) {
  const count = 2 * heads * FIGURE <= FIGURES * width ? heads : 1
  const room = height - TOP - BOTTOM
  const column = (side) => {
    const labels = numbers[side], pitch = Math.min(PITCH, room / Math.max(1, labels.length))
    const size = Math.min(TEXT.most, Math.max(TEXT.least, pitch * 0.8))
    const style = { size, mono: true }, measure = (text) => textWidth(text, style)
    const names = labels.map((label) => fitted(shown(label, state), width * WIDEST_LABEL, measure))
    const wide = names.reduce((most, name) => Math.max(most, measure(name)), 0)
    return { side, names, pitch, size, wide, special: numbers.special[side], y: (index) => TOP + (index + 0.5) * pitch }
  }
  const queries = column("queries"), keys = column("keys")
  queries.label = { x: count * FIGURE + queries.wide, anchor: "end" }
  queries.end = queries.label.x + GAP
  queries.figure = (index) => (index + 1) * FIGURE - GAP
  keys.label = { x: width - count * FIGURE - keys.wide, anchor: "start" }
  keys.end = keys.label.x - GAP
  keys.figure = (index) => width - (count - index - 1) * FIGURE - 2
  return { queries, keys, count, at: (x, y) => at(x, y, queries, keys), note: height - BOTTOM / 2 }
}

function at(x, y, queries, keys) {
  const column = x <= queries.end ? queries : x >= keys.end ? keys : null
  const index = column ? Math.floor((y - TOP) / column.pitch) : -1
  return index >= 0 && index < column.names.length ? { side: column.side, index } : null
}

// The places that have a label: those wanted, the first ones first, then others as they fit between.
export function labelled({ names, pitch, size }, wanted) {
  const apart = Math.ceil((size * APART) / pitch), taken = new Uint8Array(names.length), places = []
  const every = Array.from({ length: Math.ceil(names.length / apart) }, (_, i) => i * apart)
  for (const index of [...wanted, ...every]) {
    if (taken[index]) continue
    places.push(index)
    taken.fill(1, Math.max(0, index - apart + 1), index + apart)
  }
  return places
}

// chosen: the places that stand out.
export function labels(column, places, chosen, palette, state) {
  return places.map((index) => ({
    type: "text", x: column.label.x, y: column.y(index), text: column.names[index], anchor: column.label.anchor,
    size: column.size, mono: true, bold: chosen.includes(index), side: column.side, index,
    ...tokenStyle(column.special[index], column.names[index], palette, state),
  }))
}
