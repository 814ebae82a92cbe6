// One step's row in every head of a layer: heads by keys.

import { pixels } from "../../../colour.js"
import { textWidth } from "../../../draw.js"
import { cellTip } from "../../../tips.js"
import { direction, filled, fitted, shown } from "../../../words.js"
import { inside, nothing, SMALL, title, TITLE } from "./pieces.js"

const LONGEST = 64, LABEL_PITCH = 12.5  // pixels of a key's label, and between two
const LABELS = { share: 0.4, from: 76 }  // of a box's height, and of how high a box
const TALLEST = 40, REMARKS = 16
const SLANT = Math.SQRT1_2
const LOST_MOST = 0.8  // of a row's weight, to tokens that are hidden

// seen: [{ kind, layer, head, numbers }], the heads of a layer in their order.
export function rows(scene, box, seen) {
  const { told, step, state, run, words, palettes } = scene
  const [{ kind, layer, numbers: { keys } }] = seen
  const palette = palettes[kind]
  const row = told.rows[run.naming(kind, state)][state.unit][state.special === "hidden" ? "shown" : "row"][step]
  const name = (head) => (head === "mean" ? words["steps.mean"] : `${head + 1}`)
  const left = Math.max(...seen.map(({ head }) => textWidth(name(head), { size: SMALL }))) + 8
  const per = Math.max(1, Math.ceil(keys.length / Math.max(1, box.width - left)))
  const said = remarks(seen, per, words)
  const top = box.y + TITLE + (said ? REMARKS : 0)
  const heading = [headed(scene, box, kind, layer)]
  if (said) heading.push({ type: "text", x: box.x, y: top - REMARKS / 2, text: said, size: SMALL, fill: palette.faint })
  if (row < 0) {
    const hidden = nothing(words["steps.hidden"], { ...box, y: top }, scene)
    return { items: [...heading, ...hidden.items], at: hidden.at }
  }

  const labels = keys.map((key) => fitted(shown(key, state), Math.min(LONGEST, box.height * LABELS.share), (text) => textWidth(text, { size: SMALL, mono: true })))
  const way = box.height < LABELS.from ? BARE : direct(labels, (box.width - left) / keys.length)
  const plot = { x: box.x + left, y: top + way.height, width: box.width - left - way.spill }
  const columns = Math.ceil(keys.length / per), side = { x: plot.width / columns }
  side.y = Math.min(TALLEST, (box.y + box.height - top - way.height) / seen.length)
  plot.height = side.y * seen.length
  const pointed = scene.hovered?.part === kind ? scene.hovered.column : -1
  const items = [
    ...heading,
    ...(way.bare ? [] : named(labels, seen[0].numbers.special.keys, way, { plot, side, per, pointed, palette, state })),
    { type: "cells", ...plot, rows: seen.length, columns, pixels: painted(seen, row, per, columns, palette, state) },
    ...framed(seen, name, { plot, side, palette, state }),
  ]
  return {
    items,
    plot,
    at(x, y) {
      if (!inside(plot, { x, y })) return null
      const { head, numbers } = seen[Math.min(seen.length - 1, Math.floor((y - plot.y) / side.y))]
      const first = Math.min(columns - 1, Math.floor((x - plot.x) / side.x)) * per
      const column = largest(numbers.cells, row * keys.length, first, Math.min(first + per, keys.length))
      return {
        hovered: { part: kind, head, column },
        tip: [[run.name({ kind, layer, head }), ""], ...cellTip(numbers, { row, column }, state, words)],
        select: { kind, head },
      }
    },
  }
}

// In their place, where a text is too long for all its cells to be fetched.
export function unseen(scene, box, kind, layer) {
  const { items, at } = nothing(scene.words["steps.long"], { ...box, y: box.y + TITLE }, scene)
  return { items: [headed(scene, box, kind, layer), ...items], at }
}

function headed({ run, words, palettes }, box, kind, layer) {
  return title(filled(words["steps.rows"], { kind: run.title(kind), layer: layer + 1 }), box, palettes[kind].strong)
}

// A name for each head, lines between them, and a frame around the selected one.
function framed(seen, name, { plot, side, palette, state }) {
  const items = [], frame = []
  seen.forEach(({ kind, head }, place) => {
    const y = plot.y + place * side.y, selected = kind === state.kind && head === state.head
    if (place) items.push({ type: "line", x1: plot.x, x2: plot.x + plot.width, y1: y, y2: y, stroke: palette.background })
    items.push({
      type: "text", x: plot.x - 6, y: y + side.y / 2, text: name(head), size: Math.min(SMALL, side.y + 1), anchor: "end",
      bold: selected, fill: selected ? palette.strong : palette.faint,
    })
    if (selected) frame.push({ type: "rect", ...plot, y, height: side.y, stroke: palette.strong, lineWidth: 2 })
  })
  return [...items, { type: "rect", ...plot, stroke: palette.blocked }, ...frame]
}

// What the colours are not: on one scale for all heads, or one key's.
function remarks(seen, per, words) {
  const [{ numbers: { low, high } }] = seen
  const said = []
  if (seen.some(({ numbers }) => numbers.low !== low || numbers.high !== high)) said.push(words["steps.scales"])
  if (per > 1) said.push(filled(words["steps.pooled"], { keys: per }))
  return said.join(" · ")
}

const BARE = { angle: 0, height: 4, spill: 0, bare: true }  // no labels: hover says what is what

// How keys' labels stand: level where they have room, else slanted, else upright.
function direct(labels, pitch) {
  const longest = Math.max(0, ...labels.map((text) => textWidth(text, { size: SMALL, mono: true })))
  if (longest + 6 <= pitch) return { angle: 0, height: 18, spill: 0 }
  if (pitch < LABEL_PITCH) return { angle: -90, height: longest + 8, spill: SMALL / 2 }
  return { angle: -45, height: (longest + SMALL) * SLANT + 4, spill: longest * SLANT }
}

function named(labels, special, { angle }, { plot, side, per, pointed, palette, state }) {
  const every = Math.max(1, Math.ceil((LABEL_PITCH * per) / side.x))
  const clear = (key) => key === pointed || pointed < 0 || Math.abs(key - pointed) >= every
  const places = [...labels.keys()].filter((key) => (key % every === 0 && clear(key)) || key === pointed)
  return places.map((key) => {
    const dimmed = special[key] && state.special === "dimmed"
    return {
      type: "text", x: plot.x + ((key + 0.5) / per) * side.x, y: plot.y - (angle ? 5 : 9), text: labels[key], size: SMALL, mono: true, angle,
      anchor: angle ? "start" : "middle", bold: key === pointed, direction: direction(labels[key]),
      fill: dimmed ? palette.faint : palette.text, opacity: dimmed ? 0.6 : 1,
    }
  })
}

// A pixel for each head and key, or for the largest of several keys.
function painted(seen, row, per, columns, palette, state) {
  const all = new Uint32Array(seen.length * columns)
  seen.forEach(({ numbers }, place) => {
    const { cells, keys, removed } = numbers, start = row * keys.length
    const shownCells = Float32Array.from({ length: columns }, (_, column) => cells[largest(cells, start, column * per, Math.min((column + 1) * per, keys.length)) + start])
    const faded = removed?.[row] > LOST_MOST ? [0] : null
    all.set(pixels(shownCells, numbers, palette, state.scale === "log", faded, columns), place * columns)
  })
  return all
}

// Which of some keys has the largest number in a row; the first where all are blocked.
function largest(cells, start, from, to) {
  let best = from
  for (let key = from + 1; key < to; key++) {
    if (!(cells[start + best] >= cells[start + key]) && !Number.isNaN(cells[start + key])) best = key
  }
  return best
}
