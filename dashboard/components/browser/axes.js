// Two axes for curves: numbers along both sides, a title, and from numbers to pixels and back.

import { textWidth } from "./draw.js"
import { direction } from "./words.js"

const SIZE = 12.5
const TICK = 12
const LINE = 17
const ROOM = { x: 64, y: 34 }  // pixels between two numbers along an axis, at least

// box: what all of it may fill. x, y: { from, to, label, whole (only whole numbers), log, ticks ([[at, text], …]) }; along
// x also names ([[at, text], …]), in a row of their own under the numbers.
// Gives items, plot (where the curves go), x(at), y(at), and back(pixel), the number along x.
export function axes({ box, x, y, title, palette }) {
  const marks = { y: y.ticks ?? ticks(y, Math.max(2, box.height / ROOM.y)) }
  const widest = Math.max(...marks.y.map(([, text]) => textWidth(text, { size: TICK })), 0)
  const left = widest + 10 + (y.label ? 20 : 0), top = title ? 26 : 8, bottom = 22 + (x.names ? LINE : 0) + (x.label ? 18 : 0)
  const right = Math.max(14, ...(x.names?.slice(-1) ?? []).map(([, text]) => textWidth(text, { size: TICK, mono: true }) / 2 + 2))
  const plot = { x: box.x + left, y: box.y + top, width: box.width - left - right, height: box.height - top - bottom }
  marks.x = x.ticks ?? ticks(x, Math.max(2, plot.width / ROOM.x))
  const scaled = ({ from, to, log }) => (log ? (at) => Math.log(at / from) / Math.log(to / from) : (at) => (to > from ? (at - from) / (to - from) : 0.5))
  const along = scaled(x), up = scaled(y)
  const place = { x: (at) => plot.x + along(at) * plot.width, y: (at) => plot.y + plot.height * (1 - up(at)) }
  const items = [
    ...marks.y.map(([at]) => ({ type: "line", x1: plot.x, x2: plot.x + plot.width, y1: place.y(at), y2: place.y(at), stroke: palette.blocked, opacity: 0.7 })),
    ...marks.y.map(([at, text]) => ({ type: "text", x: plot.x - 8, y: place.y(at), text, anchor: "end", size: TICK, fill: palette.faint })),
    ...marks.x.map(([at, text]) => ({ type: "text", x: place.x(at), y: plot.y + plot.height + 13, text, anchor: "middle", size: TICK, fill: palette.faint })),
    ...(x.names ?? []).map(([at, text]) => ({ type: "text", x: place.x(at), y: plot.y + plot.height + 13 + LINE, text, anchor: "middle", size: TICK, fill: palette.text, mono: true, direction: direction(text) })),
    { type: "line", x1: plot.x, x2: plot.x + plot.width, y1: plot.y + plot.height, y2: plot.y + plot.height, stroke: palette.faint },
  ]
  if (title) items.push({ type: "text", x: plot.x, y: box.y + 10, text: title, size: 13.5, bold: true, fill: palette.text })
  if (x.label) items.push({ type: "text", x: plot.x + plot.width / 2, y: box.y + box.height - 8, text: x.label, anchor: "middle", size: SIZE, fill: palette.faint })
  if (y.label) items.push({ type: "text", x: box.x + 9, y: plot.y + plot.height / 2, text: y.label, anchor: "middle", angle: -90, size: SIZE, fill: palette.faint })
  return { items, plot, ...place, back: (pixel) => x.from + ((pixel - plot.x) / plot.width) * (x.to - x.from) }
}

// Points of a curve, for a path; where a value is no number there is a gap, and another path.
export function curve(values, at, { x, y }, style) {
  const paths = [[]]
  for (let i = 0; i < values.length; i++) {
    if (Number.isFinite(values[i])) paths.at(-1).push(x(at(i)), y(values[i]))
    else if (paths.at(-1).length) paths.push([])
  }
  return paths.filter((points) => points.length).map((points) => ({ type: "path", points, lineWidth: 2, ...style }))
}

// What lies between two curves.
export function band(low, high, at, { x, y }, fill) {
  const points = []
  for (let i = 0; i < low.length; i++) points.push(x(at(i)), y(high[i]))
  for (let i = low.length - 1; i >= 0; i--) points.push(x(at(i)), y(low[i]))
  return { type: "path", points, closed: true, fill, opacity: 0.22 }
}

export const inside = ({ x, y, width, height }, at, up) => at >= x && at <= x + width && up >= y && up <= y + height

// Round numbers between two, at most so many, with their texts.
export function ticks({ from, to, whole = false, log = false }, most) {
  if (log) return powers(from, to)
  const step = roundStep((to - from) / most, whole), found = []
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9))
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9; i++) found.push([i * step, written(i * step, digits)])
  return found
}

function roundStep(least, whole) {
  if (!(least > 0)) return 1
  const power = 10 ** Math.floor(Math.log10(least))
  const step = power * [1, 2, 5, 10].find((one) => one * power >= least * (1 - 1e-9))
  return whole ? Math.max(1, Math.round(step)) : step
}

function powers(from, to) {
  const first = Math.ceil(Math.log10(from) - 1e-9), last = Math.floor(Math.log10(to) + 1e-9)
  return Array.from({ length: last - first + 1 }, (_, i) => [10 ** (first + i), written(10 ** (first + i), Math.max(0, -first - i))])
}

export function written(value, digits = 0) {
  const text = value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits })
  return /^-?0(\.0*)?$/.test(text) ? text.replace("-", "") : text.replace("-", "−")
}
