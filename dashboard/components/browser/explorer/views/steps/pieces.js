// What the parts of the decoding view share. A part is made of a scene and a box: { items, at }.
//
// A scene: { told (what step_numbers.py gives), step, state, run, words, palettes, palette, hovered }.

import { textWidth } from "../../../draw.js"
import { wrapped } from "../../../parts.js"
import { direction, fitted, shown } from "../../../words.js"

export const TITLE = 20, SIZE = 13, SMALL = 12
export const MARK = "▸"

export function title(text, { x, y }, fill) {
  return { type: "text", x, y: y + TITLE / 2, text, size: SIZE, bold: true, fill }
}

// A token of the run's list, by its place in it.
export function token({ told, state, palette }, place, { x, y, most, size = SIZE, anchor, bold }) {
  const dimmed = told.special[place] && state.special !== "shown"
  const text = fitted(shown(told.tokens[place], state), most, (part) => textWidth(part, { size, mono: true, bold }))
  return {
    type: "text", x, y, text, size, anchor, bold, mono: true, direction: direction(text),
    fill: dimmed ? palette.faint : palette.text, opacity: dimmed ? 0.6 : 1,
  }
}

// A bar as long as a probability, on a track that ends at 1.
export function bar(share, { x, y, width, height }, palette, strong) {
  return [
    { type: "line", x1: x, x2: x, y1: y, y2: y + height, stroke: palette.faint, opacity: 0.6 },
    { type: "rect", x, y, width: share * width, height, fill: palette.faint, opacity: strong ? 0.85 : 0.4 },
  ]
}

export function dashed({ x, y, width, height }, stroke) {
  const line = (x1, y1, x2, y2) => ({ type: "line", x1, y1, x2, y2, stroke, lineWidth: 1.25, dash: [3, 3] })
  return [
    line(x, y, x + width, y), line(x, y + height, x + width, y + height),
    line(x, y, x, y + height), line(x + width, y, x + width, y + height),
  ]
}

// A text on as many lines as it takes.
export function lines(text, { x, y, width }, fill, size = SMALL) {
  const pitch = Math.round(size * 1.4)
  const texts = wrapped(text, width, (part) => textWidth(part, { size }))
  const items = texts.map((line, place) => ({ type: "text", x, y: y + pitch * (place + 0.5), text: line, size, fill }))
  return { items, height: pitch * texts.length }
}

// A text in the place of a picture.
export function nothing(text, box, { palette }) {
  return { items: lines(text, box, palette.text, SIZE).items, at: () => null }
}

// Two digits, and a sign where they would say nothing.
export function short(number) {
  if (number === Infinity) return "∞"
  return number > 0 && number < 0.005 ? "<0.01" : number.toFixed(2)
}

export function exact(number) {
  return number === Infinity ? "∞" : number.toFixed(4)
}

export function inside({ x, y, width, height }, at) {
  return at.x >= x && at.x < x + width && at.y >= y && at.y < y + height
}
