// Every head of every kind, small, in one picture.

import { bytePixels } from "../../colour.js"

const LABEL = 16, TITLE = 20, GAP = 6, SPACE = 28, WIDEST = 1.6  // pixels; a tile's width by its height

export const heads = {
  wide: true,  // no overview beside it: it is one

  requests: (state) => [{ kind: state.kind, layer: state.layer, head: state.head }],

  picture({ overview, state, run, palettes, width, height, words, hovered }) {
    const items = [], tiles = []
    if (!overview) return { items }
    // Kinds stand one under another, or where there is much room side by side.
    const apart = width > height ? overview.kinds.length : 1, stacked = apart > 1 ? 1 : overview.kinds.length
    const counted = overview.kinds.map(({ kind }) => run.kind(kind).heads), layers = counted.map((counts) => counts.length)
    const rows = apart > 1 ? Math.max(...layers) : layers.reduce((sum, count) => sum + count, 0)
    const columns = Math.max(...counted.flat()), room = { x: (width - (apart - 1) * SPACE) / apart - LABEL, y: height - stacked * (TITLE + LABEL) }
    const across = Math.max(8, room.x / columns - GAP), down = Math.max(8, room.y / rows - GAP)
    const side = { x: Math.min(across, down * WIDEST), y: Math.min(down, across / 1.05) }
    let left = 0, y = 0
    for (const one of overview.kinds) {
      const palette = palettes[one.kind], { heads: counts } = run.kind(one.kind)
      items.push({ type: "text", x: left, y: y + TITLE / 2, text: run.title(one.kind), size: 13, fill: palette.strong, bold: true })
      y += TITLE
      for (let head = 0; head < Math.max(...counts); head++) {
        items.push({ type: "text", x: left + LABEL + head * (side.x + GAP) + side.x / 2, y: y + LABEL / 2 - 2, text: `${head + 1}`, anchor: "middle", size: 11, fill: palette.faint })
      }
      y += LABEL
      for (let layer = 0; layer < counts.length; layer++, y += side.y + GAP) {
        items.push({ type: "text", x: left + LABEL / 2 - 2, y: y + side.y / 2, text: `${layer + 1}`, anchor: "middle", size: 11, fill: palette.faint })
        for (let head = 0; head < counts[layer]; head++) {
          const box = { x: left + LABEL + head * (side.x + GAP), y, width: side.x, height: side.y }
          const tile = { kind: one.kind, layer, head, box, numbers: one, place: run.place(one.kind, layer, head) }
          tiles.push(tile)
          items.push(...drawn(tile, palette, state, hovered))
        }
      }
      if (apart > 1) [left, y] = [left + room.x + LABEL + SPACE, 0]
    }
    return {
      items,
      tiles,
      at(x, y) {
        const tile = tiles.find(({ box }) => x >= box.x && x < box.x + box.width && y >= box.y && y < box.y + box.height)
        return tile && { hovered: tile, tip: tip(tile, run, words), select: { kind: tile.kind, layer: tile.layer, head: tile.head, pair: null } }
      },
    }
  },
}

function drawn({ kind, layer, head, box, numbers, place }, palette, state, hovered) {
  const cells = numbers.tiles[place]
  const chosen = kind === state.kind && layer === state.layer && (state.head === "mean" || head === state.head)
  const pointed = hovered && hovered.kind === kind && hovered.layer === layer && hovered.head === head
  const frame = { type: "rect", ...box, stroke: chosen ? palette.strong : pointed ? palette.text : palette.blocked, lineWidth: chosen ? 3 : pointed ? 2 : 1 }
  if (!cells) return [frame]  // not here yet
  const [rows, columns] = numbers.sizes[layer]
  return [
    { type: "cells", ...box, rows, columns, pixels: bytePixels(cells, palette) },
    frame,
  ]
}

function tip({ kind, layer, head, numbers, place }, run, words) {
  const best = numbers.strongest[place]
  const lines = [[run.name({ kind, layer, head }), ""]]
  if (best) lines.push([words["hover.query"], best.query], [words["hover.key"], best.key], [words["hover.strongest"], best.weight.toFixed(4)])
  return lines
}
