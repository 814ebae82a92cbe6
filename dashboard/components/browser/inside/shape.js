// The axes of what a step reads, and under them those of what it makes: lines show where each axis goes.

import { textWidth } from "../draw.js"

const BECOMES = { E: ["H", "D"] }  // split into heads, and joined again

// reads, made: lists of [letter, size]. Several things that are read stand side by side.
export function shapes(reads, made, { x, y, width, size, palette }) {
  const pitch = size * 1.75, between = size * 1.35
  const above = reads.length ? row(reads, x, y, size, palette.faint, palette) : null
  const top = above ? y + pitch + between : y
  const below = row([made], x, top, size, palette.strong, palette)
  const scale = Math.min(1, width / Math.max(above?.width ?? 0, below.width))
  const items = above ? [...lines(above, below, y + pitch, top, palette), ...above.items] : []
  return { items: [...items, ...below.items], height: top + pitch - y, narrow: scale < 1 }
}

function row(tensors, x, y, size, stroke, palette) {
  const items = [], axes = [], high = size * 1.75
  let right = x
  const write = (text, style) => {
    items.push({ type: "text", x: right, y: y + high / 2, text, size, fill: palette.faint, ...style })
    right += textWidth(text, { size, ...style })
  }
  tensors.forEach((tensor, at) => {
    if (at) write("  ·  ", {})
    for (const [letter, length] of tensor) {
      const name = textWidth(letter, { size, bold: true }), number = textWidth(length.toLocaleString("en"), { size })
      const wide = name + number + size * 1.3
      items.push({ type: "rect", x: right, y: y + 1, width: wide, height: high - 2, stroke, radius: 5, lineWidth: 1.2 })
      items.push({ type: "text", x: right + size * 0.4, y: y + high / 2, text: letter, size, bold: true, fill: palette.text })
      items.push({ type: "text", x: right + size * 0.8 + name, y: y + high / 2, text: length.toLocaleString("en"), size, fill: palette.text })
      axes.push({ letter, tensor: at, middle: right + wide / 2 })
      right += wide + size * 0.35
    }
  })
  return { items, axes, width: right - x }
}

function lines(above, below, from, to, palette) {
  const made = []
  for (const one of above.axes) {
    for (const other of below.axes) {
      if (!leads(one, other, above.axes, below.axes)) continue
      const straight = place(one, above.axes) === place(other, below.axes)
      made.push({
        type: "line", x1: one.middle, y1: from, x2: other.middle, y2: to,
        stroke: straight ? palette.faint : palette.strong, lineWidth: straight ? 1 : 2,
      })
    }
  }
  return made
}

// Where an axis stands among those of its tensor.
function place(one, axes) {
  return axes.filter((other) => other.tensor === one.tensor).indexOf(one)
}

function leads(one, other, above, below) {
  const has = (axes, letter) => axes.some((axis) => axis.letter === letter)
  if (one.letter === other.letter) return one.letter !== "D" || above.at(-1).tensor === 0 || one.tensor === above.at(-1).tensor
  if (BECOMES[one.letter]?.includes(other.letter)) return !has(below, one.letter)
  return Boolean(BECOMES[other.letter]?.includes(one.letter)) && !has(above, other.letter)
}
