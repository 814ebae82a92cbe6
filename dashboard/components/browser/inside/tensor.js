// A tensor as squares of colour, rows being tokens. What is wider than the screen is drawn from the largest of each few.

import { textWidth } from "../draw.js"
import { matrix } from "../matrix.js"
import { number } from "../parts.js"

const WIDEST_CELL = 62, TALLEST_CELL = 44
const LABELS = { spaces: true, special: "shown", scale: "linear" }  // tokens as they ran

// values: { rows, columns, cells, size, most | low, high }. framed: columns of the chosen head, or null.
export function tensor({ values, way, box, zoom, cell, framed, hovered, palette, words }) {
  const [rows, columns] = values.size
  const labels = way.tokens[values.rows].labels, keys = { S: way.tokens.S.labels, "": [""] }[values.columns] ?? null
  const size = 13
  const widest = Math.max(...labels.map((label) => textWidth(label, { size, mono: true })))
  const room = { ...box, width: Math.min(box.width, widest + 70 + columns * WIDEST_CELL), height: Math.min(box.height, 70 + rows * TALLEST_CELL) }
  const seen = zoom?.columns ?? [0, columns], bins = Math.max(1, Math.floor(room.width - widest - 40))
  const most = values.columns ? values.most : Infinity  // ids are names: a larger one is nothing more
  const numbers = { ...values, most, queries: labels, keys, total: [rows, columns] }
  if (seen[1] - seen[0] > bins) Object.assign(numbers, binned(values, seen, bins))
  const titles = { queries: words[`inside.axis.${rowsOf(values)}`], keys: words[`inside.axis.${values.columns || "one"}`] }
  const drawn = matrix({
    numbers, palette, box: room, zoom, state: LABELS, titles, marked: [cell], hovered: hovered?.part === "cell" ? hovered : null,
    size, numbered: { least: 0, size: 19, digits: values.columns ? 2 : 0 },
  })
  const items = [...drawn.items, ...(framed ? frame(framed, drawn, palette) : [])]
  return {
    ...drawn, items, whole: { rows, columns },
    at(x, y) {
      const place = drawn.at(x, y)
      if (!place) return null
      const row = Math.min(rows - 1, place.row), column = numbers.from ? largestIn(numbers, row, place.column) : Math.min(columns - 1, place.column)
      const value = values.cells[row * columns + column]
      const name = [titles.keys, values.columns ? keys?.[column] ?? String(column + 1) : ""]
      return {
        hovered: { part: "cell", row, column },
        tip: [[titles.queries, labels[row]], name, Number.isNaN(value) ? [words["hover.blocked"], ""] : ["", number(value, values.columns ? 4 : 0)]],
        select: { cell: [row, column] },
      }
    },
  }
}

// What rows are: tokens, which ask or are looked at within an attention.
function rowsOf({ rows, columns }) {
  return rows === "L" && !["S", "D"].includes(columns) ? "tokens" : rows
}

// The columns of one head among those of all.
function frame([from, to], { plot, seen }, palette) {
  const x = (column) => plot.x + (plot.width * (Math.min(seen.columns[1], Math.max(seen.columns[0], column)) - seen.columns[0])) / (seen.columns[1] - seen.columns[0])
  if (x(to) <= x(from)) return []
  return [{ type: "rect", x: x(from), y: plot.y - 2, width: x(to) - x(from), height: plot.height + 4, stroke: palette.text, lineWidth: 2.5 }]
}

const kept = new WeakMap()

// Of all columns in view so many, each the largest of either sign of those that it stands for.
function binned(values, seen, bins) {
  const way = `${seen} ${bins}`
  if (kept.get(values)?.way === way) return kept.get(values).made
  const [rows, columns] = values.size
  const from = Math.floor(seen[0]), to = Math.min(columns, Math.ceil(seen[1]))
  const cells = new Float32Array(rows * bins), places = new Int32Array(rows * bins)
  for (let row = 0; row < rows; row++) {
    for (let column = from; column < to; column++) {
      const bin = row * bins + Math.floor(((column - from) * bins) / (to - from)), value = values.cells[row * columns + column]
      if (Math.abs(value) >= Math.abs(cells[bin])) {
        cells[bin] = value
        places[bin] = column
      }
    }
  }
  const made = { cells, from: places, window: { rows: [0, rows], columns: [from, to] }, bins: [rows, bins] }
  kept.set(values, { way, made })
  return made
}

function largestIn({ from, window, bins }, row, column) {
  const [begin, end] = window.columns
  return from[row * bins[1] + Math.floor(((column - begin) * bins[1]) / (end - begin))]
}
