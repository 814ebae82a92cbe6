// Parts of a picture that stand one under another. A part is { items, spots, height }, its top at 0; a spot is a place
// that the pointer can be at: { x, y, width, height, hovered, tip, select }.

import { textWidth } from "./draw.js"

// Parts as one, a gap between two.
export function stacked(parts, gap) {
  const items = [], spots = []
  let y = 0
  for (const part of parts) {
    items.push(...part.items.map((item) => lowered(item, y)))
    spots.push(...(part.spots ?? []).map((spot) => lowered(spot, y)))
    y += part.height + gap
  }
  return { items, spots, height: Math.max(0, y - gap) }
}

function lowered(item, by) {
  const moved = { ...item }
  for (const name of ["y", "y1", "y2"]) if (name in item) moved[name] += by
  return moved
}

// A text on as many lines as it takes.
export function paragraph(text, { width, size, palette }, { fill = palette.faint } = {}) {
  const pitch = size * 1.4
  const lines = wrapped(text, width, (line) => textWidth(line, { size }))
  return { items: lines.map((line, i) => ({ type: "text", x: 0, y: pitch * (i + 0.5), text: line, size, fill })), height: pitch * lines.length }
}

const WORDS = /[\u3000-\u9fff\uf900-\ufaff\uff00-\uffef][、，。；：！？）」]*|[^\s\u3000-\u9fff\uf900-\ufaff\uff00-\uffef]+\s*|\s+/gu

// Between words, or between characters where a script has no spaces; what is wider than a line by itself is broken up.
export function wrapped(text, width, measure) {
  const lines = [""]
  const add = (piece) => {
    if (lines.at(-1) && measure((lines.at(-1) + piece).trimEnd()) > width) lines.push("")
    lines[lines.length - 1] += piece
  }
  for (const [word] of text.matchAll(WORDS)) {
    if (measure(word.trimEnd()) <= width) add(word)
    else for (const letter of word) add(letter)
  }
  return lines.map((line) => line.trimEnd())
}

// A number as it is shown, with a real minus; nothing is written as minus zero.
export function number(value, digits = 2) {
  const text = value.toFixed(digits)
  return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−")
}
