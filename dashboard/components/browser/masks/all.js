// Every mask of the run as itself: its name, its shape in letters and numbers, its dtype, and in words what it blocks.

import { channels } from "../colour.js"
import { textWidth } from "../draw.js"
import { filled, fitted } from "../words.js"

const HEAD = 54  // pixels: three lines over a picture
const LINE = 18
const GAP = 12
const LARGEST = 24  // pixels of a cell's side

export function all({ masks: { masks, sentences }, width, height, palette, words }) {
  const given = masks.filter(({ means }) => means !== "merged"), merged = masks.find(({ means }) => means === "merged")
  const columns = width > 900 ? given.length : 2, rows = Math.ceil(given.length / columns)
  const upper = rows * (HEAD + GAP) + (height - rows * (HEAD + GAP) - HEAD - LINE) * (rows > 1 ? 0.5 : 0.4)
  const items = [], pictures = []
  const draw = (mask, cells, [high, wide], box) => {
    const cell = Math.min(box.width / wide, box.height / high, LARGEST), size = { width: cell * wide, height: cell * high }
    items.push(
      { type: "cells", x: box.x, y: box.y, ...size, rows: high, columns: wide, pixels: painted(cells, palette) },
      { type: "rect", x: box.x, y: box.y, ...size, stroke: palette.faint },
    )
    pictures.push({ ...mask, grid: [high, wide], cells })
  }
  const title = (mask, x, y, wide) => {
    const line = (text, down, style) => items.push({ type: "text", x, y: y + down, size: 12, fill: palette.faint, text: fitted(text, wide, (part) => textWidth(part, { size: 12, ...style })), ...style })
    line(mask.means === "merged" ? words["masks.merged"] : mask.name, 8, { size: 13, mono: mask.means !== "merged", bold: true, fill: palette.text })
    line(`${mask.shape} = (${mask.size.join(", ")})  ${mask.dtype}`, 25, { mono: true })
    line(words[`masks.means.${mask.means}`], 41, {})
  }
  const wide = (width - GAP * (columns - 1)) / columns, high = upper / rows
  given.forEach((mask, i) => {
    const x = (i % columns) * (wide + GAP), y = Math.floor(i / columns) * high
    title(mask, x, y, wide)
    draw(mask, mask.cells, mask.size, { x, y: y + HEAD, width: wide, height: high - HEAD - GAP })
  })
  title(merged, 0, upper, width)
  const [, ...grid] = merged.size, length = grid[0] * grid[1]
  const side = sideBySide(sentences, grid, width, height - upper - HEAD)
  for (let i = 0; i < sentences; i++) {
    const x = (i % side.columns) * side.width, y = upper + HEAD + Math.floor(i / side.columns) * side.height
    items.push({ type: "text", x, y: y + 7, text: filled(words["masks.of_sentence"], { text: i + 1 }), size: 12, fill: palette.faint })
    draw(merged, merged.cells.subarray(i * length, (i + 1) * length), grid, { x, y: y + LINE, width: side.width - GAP, height: side.height - LINE - 4 })
  }
  return { items, at: () => null, pictures }
}

// In how many columns pictures of one grid are largest, and how much room each has.
function sideBySide(count, [high, wide], width, height) {
  const ways = Array.from({ length: count }, (_, i) => {
    const columns = i + 1, room = { columns, width: width / columns, height: height / Math.ceil(count / columns) }
    return { ...room, cell: Math.min((room.width - GAP) / wide, (room.height - LINE - 4) / high) }
  })
  return ways.reduce((best, one) => (one.cell > best.cell ? one : best))
}

const made = new WeakMap()

// What blocks is grey; what is added to a score has the colour of its sign.
function painted(cells, palette) {
  const known = made.get(cells.buffer)?.get(cells.byteOffset)
  if (known?.way === palette.strong) return known.pixels
  const [blocked, open, above, below] = [palette.faint, palette.background, palette.strong, palette.negative].map(channels)
  const most = cells.reduce((far, one) => (Number.isFinite(one) ? Math.max(far, Math.abs(one)) : far), 0)
  const pack = ([red, green, blue]) => (255 << 24) | (Math.round(blue) << 16) | (Math.round(green) << 8) | Math.round(red)
  const pixels = Uint32Array.from(cells, (one) => {
    if (one === -Infinity) return pack(blocked)
    const to = one < 0 ? below : above, part = most ? Math.abs(one) / most : 0
    return pack(open.map((low, i) => low + (to[i] - low) * part))
  })
  if (!made.has(cells.buffer)) made.set(cells.buffer, new Map())
  made.get(cells.buffer).set(cells.byteOffset, { way: palette.strong, pixels })
  return pixels
}
