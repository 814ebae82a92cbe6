// One step of a walk: its formula, where its axes come from, its tensor, and beside it one number taken apart.

import { filled } from "../words.js"
import { reckoning } from "./reckoning.js"
import { formula, formulaOf } from "./formula.js"
import { shapes } from "./shape.js"
import { tensor } from "./tensor.js"

const GAP = 26
const ALL_HEADS = ["projection", "joined"]  // steps in which the columns of all heads stand side by side

export function picture({ way, step, values, several, cell, place, state, width, height, palette, words, hovered, zoom }) {
  const left = { x: 0, y: 0, width: Math.floor(width * 0.53) - GAP / 2, height }
  const right = { x: left.width + GAP, y: 4, width: width - left.width - GAP, height: height - 8 }
  const scale = Math.min(1.5, Math.max(1, height / 480))
  const choices = tabs(several, values.name, left, scale, palette)
  const gaps = {
    tensor: values.name, head: state.head + 1, heads: way.sizes.H, layer: state.layer, pre: way.norm_first,
    cross: state.kind === "cross", activation: way.activation,
  }
  const written = formula(formulaOf(step.name, gaps), { x: 2, y: 15 * scale, width: choices.left - 16, size: 21 * scale, fill: palette.text })
  const layout = state.batch_first ? "batch_first" : "length_first"
  const axes = (one) => way.sized(one.shape[layout])
  const drawn = shapes(way.reads(step, values.name).map(axes), axes(values), { x: 2, y: 34 * scale, width: left.width, size: 13 * scale, palette })
  const top = 34 * scale + drawn.height + 8
  const head = [state.head * way.sizes.D, (state.head + 1) * way.sizes.D]
  const table = tensor({
    values, way, zoom, cell: place, hovered, palette, words, framed: ALL_HEADS.includes(step.name) ? head : null,
    box: { x: 0, y: top, width: left.width, height: height - top },
  })
  const beside = reckoning({ cell, title: titleOf(way, values, cell, place, words), ...named(way, values, cell, place), box: right, palette, words })
  const spots = [...choices.spots, ...beside.spots]
  const within = (x, y) => spots.find((spot) => x >= spot.x && x < spot.x + spot.width && y >= spot.y && y < spot.y + spot.height)
  return {
    items: [...written, ...choices.items, ...drawn.items, ...table.items, ...beside.items],
    plot: table.plot, seen: table.seen, whole: table.whole,
    at: (x, y) => within(x, y) ?? table.at(x, y),
  }
}

// q, k and v, one of them chosen.
function tabs(several, chosen, { width }, scale, palette) {
  if (several.length < 2) return { items: [], spots: [], left: width }
  const side = 30 * scale, items = [], spots = []
  several.forEach(({ name }, at) => {
    const box = { x: width - side * (several.length - at), y: 2, width: side - 4, height: 26 * scale }
    const on = name === chosen
    items.push({ type: "rect", ...box, radius: 5, stroke: on ? palette.strong : palette.blocked, lineWidth: on ? 2 : 1 })
    items.push({ type: "text", x: box.x + box.width / 2, y: box.y + box.height / 2, text: name, size: 16 * scale, bold: on, anchor: "middle", fill: on ? palette.strong : palette.text })
    spots.push({ ...box, hovered: { part: "tab", name }, select: { tensor: name } })
  })
  return { items, spots, left: width - side * several.length }
}

// What the number is called: its token, and its key or its column.
function titleOf(way, values, cell, [row, column], words) {
  const token = way.tokens[values.rows].labels[row]
  if (!values.columns) return filled(words["inside.cell.id"], { token })
  if (cell.token !== null) return filled(words["inside.cell.token"], { token, other: cell.token })
  if (values.columns === "S") return filled(words["inside.cell.pair"], { token, other: way.tokens.S.labels[column] })
  return filled(words["inside.cell.column"], { token, other: column + 1 })
}

// What the terms are called, and which of them is the one that was clicked.
function named(way, values, { over }, [, column]) {
  if (over !== "S") return { names: null, chosen: null }
  return { names: way.tokens.S.labels, chosen: values.columns === "S" ? column : null }
}
