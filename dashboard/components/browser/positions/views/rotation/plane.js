// The plane of one pair: the first dimension to the right, the second upwards, a point for each position.

import { dimensionName, positionName } from "../../names.js"

const AIR = 62  // pixels around the circle, for the names of points
const DOTS_UP_TO = 256  // positions
const NEAR = 14  // pixels
const ARC = { radius: 0.3, wider: 0.05, piece: 0.08 }  // of the circle's radius; how much more with every turn; radians

export function plane({ found, state, table, palette, words, hovered, box }) {
  const middle = { x: box.x + box.width / 2, y: box.y + box.height / 2 }
  const radius = Math.max(20, box.width / 2 - AIR)
  const reach = found.turns ? 1 : Math.max(...found.cells.map(Math.abs)) || 1
  const place = (at) => ({ x: middle.x + (found.cells[2 * at] / reach) * radius, y: middle.y - (found.cells[2 * at + 1] / reach) * radius })
  const all = Array.from({ length: table.length }, (_, at) => at), places = all.map(place)
  const { position, offset } = state, other = position + offset
  const items = [...cross(middle, radius, found.features, words, palette)]
  if (found.turns) items.push({ type: "rect", x: middle.x - radius, y: middle.y - radius, width: 2 * radius, height: 2 * radius, radius, stroke: palette.faint })
  if (table.length <= DOTS_UP_TO) items.push(...places.map((one) => dot(one, 3, palette.faint, 0.6)))
  if (hovered?.position !== undefined && hovered.position < table.length) items.push(dot(places[hovered.position], 5, palette.text))
  for (const [at, stroke] of [[position, palette.strong], [other, palette.negative]]) {
    items.push({ type: "line", x1: middle.x, y1: middle.y, x2: places[at].x, y2: places[at].y, stroke, lineWidth: 2 })
  }
  if (found.turns && offset) items.push(arc(middle, radius, found.step, position, other, palette))
  items.push({ ...dot(places[position], 7, palette.strong), point: "p" }, { ...dot(places[other], 7, palette.negative), point: "p + k" })
  items.push(...named(middle, radius, places, position, other, offset, table, palette))
  const near = (x, y) => {
    const distances = places.map((one) => Math.hypot(one.x - x, one.y - y)), best = distances.indexOf(Math.min(...distances))
    return distances[best] <= NEAR ? best : null
  }
  return { items, near, places }
}

function dot({ x, y }, radius, fill, opacity = 1) {
  return { type: "rect", x: x - radius, y: y - radius, width: 2 * radius, height: 2 * radius, radius, fill, opacity }
}

function cross(middle, radius, [first, second], words, palette) {
  const far = radius + 10
  const axes = `→ ${dimensionName(first, words)}    ↑ ${dimensionName(second, words)}`
  return [
    { type: "line", x1: middle.x - far, x2: middle.x + far, y1: middle.y, y2: middle.y, stroke: palette.blocked },
    { type: "line", x1: middle.x, x2: middle.x, y1: middle.y - far, y2: middle.y + far, stroke: palette.blocked },
    { type: "text", x: middle.x, y: middle.y + radius + AIR - 10, text: axes, anchor: "middle", size: 13, fill: palette.faint },
  ]
}

// From one position's angle to the other's, a little wider with every whole turn.
function arc(middle, radius, step, from, to, palette) {
  const pieces = Math.max(2, Math.min(2000, Math.ceil(Math.abs((to - from) * step) / ARC.piece)))
  const points = []
  for (let i = 0; i <= pieces; i++) {
    const turned = ((to - from) * step * i) / pieces, angle = from * step + turned
    const wide = radius * Math.min(0.92, ARC.radius + (ARC.wider * Math.abs(turned)) / (2 * Math.PI))
    points.push(middle.x + wide * Math.sin(angle), middle.y - wide * Math.cos(angle))
  }
  return { type: "path", points, stroke: palette.text, lineWidth: 1.6, arc: true }
}

// The two points' names, outside, apart from each other.
function named(middle, radius, places, position, other, offset, table, palette) {
  const name = (at, text, fill) => {
    const { x, y } = places[at], away = Math.hypot(x - middle.x, y - middle.y) || 1
    const [right, up] = [(x - middle.x) / away, (middle.y - y) / away]
    const far = Math.max(away, radius * 0.4) + 15
    const anchor = Math.abs(right) < 0.35 ? "middle" : right > 0 ? "start" : "end"
    return { type: "text", x: middle.x + right * far, y: middle.y - up * far, text, size: 13.5, bold: true, fill, anchor }
  }
  const first = name(position, `p = ${positionName(position, table)}`, palette.strong)
  const second = name(other, `p ${offset < 0 ? "−" : "+"} ${Math.abs(offset)} = ${positionName(other, table)}`, palette.negative)
  if (Math.abs(first.y - second.y) < 17 && Math.abs(first.x - second.x) < 110) {
    const down = second.y >= first.y ? 1 : -1
    second.y = first.y + down * 17
  }
  return [first, second]
}
