// Running text: where each token stands when lines are as wide as there is room.

import { textWidth } from "../../draw.js"
import { fitted } from "../../words.js"
import { inOrder, runsFrom } from "./spacing.js"

const SIZES = { least: 5, most: 36 }  // pixels of text
const LINE = 1.8, BOX = 1.45  // heights, as multiples of the text's size
const SPACE = 0.3, PAD = 0.05  // widths, likewise

// The largest size at which all texts fit into a height together, one above the other.
export function fittingSize(texts, width, height) {
  let [low, high] = [SIZES.least, SIZES.most]
  while (low < high) {
    const size = Math.ceil((low + high) / 2)
    const needed = texts.reduce((sum, tokens) => sum + flow(tokens, size, width).height, 0)
    if (needed <= height) low = size
    else high = size - 1
  }
  return low
}

// tokens: as spaced() gives them. Of each, in its order: { text, x, y, width, height }, x and y from the top left corner.
export function flow(tokens, size, width) {
  const style = { size }, pad = PAD * size, gap = SPACE * size
  const measured = tokens.map(({ text }) => {
    const wide = textWidth(text, style) + 2 * pad
    if (wide <= width) return { text, width: wide }
    return { text: fitted(text, width - 2 * pad, (part) => textWidth(part, style)), width }
  })
  const base = runsFrom(tokens), boxes = []
  const lines = broken(tokens, measured, gap, width)
  lines.forEach((line, at) => {
    const order = inOrder(line, tokens, base)
    const gaps = order.map((index, place) => (place > 0 && between(order[place - 1], index, tokens) ? gap : 0))
    const length = order.reduce((sum, index, place) => sum + gaps[place] + measured[index].width, 0)
    let x = base === "rtl" ? Math.max(0, width - length) : 0
    order.forEach((index, place) => {
      x += gaps[place]
      boxes[index] = { ...measured[index], x, y: (at * LINE + (LINE - BOX) / 2) * size, height: BOX * size }
      x += measured[index].width
    })
  })
  return { boxes, height: lines.length * LINE * size, base }
}

// Whether there is a space between two tokens that stand side by side.
function between(left, right, tokens) {
  return Math.abs(left - right) > 1 || tokens[Math.max(left, right)].space
}

// Lines of tokens, in the order in which they are read. What may not be broken is, where it is wider than a line.
function broken(tokens, measured, gap, width) {
  const lines = [[]]
  let used = 0
  const begin = () => {
    if (lines.at(-1).length) lines.push([])
    used = 0
  }
  for (const group of unbroken(tokens)) {
    const wide = group.reduce((sum, index) => sum + measured[index].width, 0)
    if (used > 0 && used + (tokens[group[0]].space ? gap : 0) + wide > width) begin()
    for (const index of group) {
      if (used > 0 && used + measured[index].width > width) begin()
      used += (used > 0 && tokens[index].space ? gap : 0) + measured[index].width
      lines.at(-1).push(index)
      if (tokens[index].ends) begin()
    }
  }
  return lines.filter((line) => line.length)
}

function unbroken(tokens) {
  const groups = []
  tokens.forEach(({ breakable }, index) => {
    if (breakable) groups.push([])
    groups.at(-1).push(index)
  })
  return groups
}
