// What a dot product is made of: its dimensions, and in the first layer what token and position give to it.

import { textWidth } from "../../draw.js"
import { number, paragraph, stacked } from "../../parts.js"
import { filled } from "../../words.js"

const OTHERS = 0.5

// tall: the height that the bars of the dimensions may fill.
export function charts(page, tall) {
  return [dimensions(page, tall), ...(page.numbers.first ? [split(page)] : [])]
}

// A bar for each dimension of the head, up from the zero line or down.
function dimensions(page, tall) {
  const { numbers, state, words } = page
  const centred = state.centred && numbers.centred !== null  // a row that may look at nothing has no mean
  const values = centred ? numbers.centred : numbers.parts
  const score = number(values.reduce((total, value) => total + value, 0))
  const said = [filled(words[centred ? "pair.sum.centred" : "pair.sum"], { score }), words["pair.basis"]]
  return stacked([choices(page), strip(values, tall, page), paragraph(said.join(" "), { ...page, size: page.size * 0.92 })], 3)
}

// The title, and on the same line, or under it where that is too narrow, which of the two is drawn.
function choices({ numbers, state, words, palette, width, size }) {
  const pitch = size * 1.5, title = filled(words["pair.dimensions"], { width: numbers.q.length })
  const items = [{ type: "text", x: 0, y: pitch / 2, text: title, size, bold: true, fill: palette.text }], spots = []
  const options = numbers.centred ? [[true, words["pair.centred"]], [false, words["pair.plain"]]] : []
  const wide = ([, text]) => textWidth(text, { size, bold: true }) + 18
  const under = textWidth(title, { size, bold: true }) + options.reduce((sum, option) => sum + wide(option), 0) > width
  const y = under ? pitch : 0
  let right = under ? options.reduce((sum, option) => sum + wide(option), 0) : width
  for (const option of options) {
    const [centred, text] = option, chosen = centred === state.centred
    const box = { x: right - wide(option), y, width: wide(option), height: pitch }
    const stroke = chosen ? palette.strong : palette.blocked
    items.push({ type: "rect", ...box, y: y + 1, height: pitch - 2, stroke, radius: 4 })
    items.push({ type: "text", x: box.x + box.width / 2, y: y + pitch / 2, text, size, anchor: "middle", bold: chosen, fill: chosen ? palette.strong : palette.faint })
    spots.push({ ...box, hovered: { part: "choice", centred }, select: { centred } })
    right -= wide(option) + 4
  }
  return { items, spots, height: y + pitch }
}

function strip(values, tall, { numbers, words, palette, hovered, width, size }) {
  const side = width / values.length
  const low = Math.min(0, ...values), high = Math.max(0, ...values), unit = (tall - 2) / (high - low || 1)
  const zero = 1 + high * unit
  const items = [], spots = []
  values.forEach((value, at) => {
    const long = Math.abs(value) * unit, pointed = hovered?.part === "dimension" && hovered.at === at
    items.push({
      type: "rect", x: at * side + side * 0.1, y: value > 0 ? zero - long : zero, width: side * 0.8, height: long,
      fill: pointed ? palette.text : value > 0 ? palette.strong : palette.faint,
    })
    const tip = [
      [filled(words["pair.dimension"], { at: at + 1 }), ""], ["q", number(numbers.q[at], 4)], ["k", number(numbers.k[at], 4)],
      [words["pair.part"], number(value, 4)],
    ]
    spots.push({ x: at * side, y: 0, width: side, height: tall, hovered: { part: "dimension", at }, tip })
  })
  items.push({ type: "line", x1: 0, x2: width, y1: zero, y2: zero, stroke: palette.faint, lineWidth: 1 })
  return { items, spots, height: tall + size * 0.3 }
}

// Five bars from one zero line, which sum to the score.
function split(page) {
  const { numbers, words, palette, width, size } = page
  const pitch = size * 1.36, digits = size * 3.4, parts = Object.entries(numbers.first), values = parts.map(([, value]) => value)
  const names = parts.map(([part]) => words[`pair.first.${part}`])
  const label = Math.max(...names.map((name) => textWidth(name, { size }))) + 8
  const low = Math.min(0, ...values), high = Math.max(0, ...values)
  const left = label + (low < 0 ? digits : 0), right = width - (high > 0 ? digits : 0), unit = (right - left) / (high - low || 1)
  const zero = left - low * unit
  const items = [{ type: "text", x: 0, y: pitch / 2, text: words["pair.first"], size, bold: true, fill: palette.text }], spots = []
  values.forEach((value, at) => {
    const y = pitch * (at + 1), long = Math.abs(value) * unit, up = value >= 0
    items.push({ type: "text", x: 0, y: y + pitch / 2, text: names[at], size, fill: palette.text })
    items.push({ type: "rect", x: up ? zero : zero - long, y: y + pitch * 0.18, width: long, height: pitch * 0.64, fill: up ? palette.strong : palette.faint, opacity: up ? 1 : OTHERS })
    items.push({ type: "text", x: up ? zero + long + 4 : zero - long - 4, y: y + pitch / 2, text: number(value), anchor: up ? "start" : "end", size, fill: palette.text })
    spots.push({ x: 0, y, width, height: pitch, hovered: { part: "first", at }, tip: [[names[at], number(value, 4)]] })
  })
  items.push({ type: "line", x1: zero, x2: zero, y1: pitch, y2: pitch * (values.length + 1), stroke: palette.faint, lineWidth: 1 })
  const total = paragraph(filled(words["pair.first.sum"], { score: number(values.reduce((sum, value) => sum + value, 0)) }), { ...page, size: size * 0.92 })
  return stacked([{ items, spots, height: pitch * (values.length + 1) }, total], 2)
}
