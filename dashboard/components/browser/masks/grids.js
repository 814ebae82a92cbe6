// Grids of numbers with names along their sides: where hidden states part, what leaks, what padding moves.

import { labelOf, matrix } from "../matrix.js"
import { filled } from "../words.js"

const PLAIN = { spaces: true, special: "shown", scale: "linear" }

// How far the hidden states of the two runs are apart, a grid for each stack.
export function layers({ layers: { streams }, width, height, palettes, words, hovered }) {
  const high = Math.max(1e-6, ...streams.flatMap(({ distance }) => [...distance]))
  const each = (height - 18 * (streams.length - 1)) / streams.length
  return stacked(streams.map(({ kind, tokens, places, distance }, i) => ({
    name: kind,
    palette: palettes[kind],
    numbers: {
      kind, cells: distance, low: 0, high, keys: tokens, removed: null,
      queries: places.map(({ layer, after }) => filled(words["masks.place"], { layer: layer + 1, after: words[`masks.after_sublayer.${after}`] })),
    },
    titles: { queries: "", keys: words[`kind.${kind}`] },
    box: { x: 0, y: i * (each + 18), width, height: each },
    value: words["masks.distance"],
  })), hovered, words)
}

export const NOISE = 1e-4  // of a logit: what rounding makes of nothing

// How much each output changes when an input token is another: all above the stairs is the future, and what leaks from
// there is framed.
export function leaks({ leaks: { tokens, cells }, width, height, palette, words, hovered }) {
  const high = Math.max(1e-6, ...cells)
  const drawn = stacked([{
    name: "leaks", palette, numbers: { cells, low: 0, high, queries: tokens, keys: tokens, removed: null },
    titles: { queries: words["masks.leaks.outputs"], keys: words["masks.leaks.inputs"] },
    box: { x: 0, y: 0, width, height }, value: words["masks.change"],
  }], hovered, words)
  const [{ plot }] = drawn.parts, side = { x: plot.width / tokens.length, y: plot.height / tokens.length }
  const place = (row, column) => [plot.x + column * side.x, plot.y + row * side.y]
  const stairs = { type: "path", points: tokens.flatMap((_, i) => [...place(i, i + 1), ...place(i + 1, i + 1)]), stroke: palette.faint, lineWidth: 1.5 }
  const leaking = [...cells.keys()].map((at) => [Math.floor(at / tokens.length), at % tokens.length]).filter(([row, column]) => column > row && cells[row * tokens.length + column] > NOISE)
  const frames = leaking.map(([row, column]) => {
    const [x, y] = place(row, column)
    return { type: "rect", x: x + 1.5, y: y + 1.5, width: side.x - 3, height: side.y - 3, stroke: palette.negative, lineWidth: 3 }
  })
  return { ...drawn, items: [...drawn.items, stairs, ...frames], leaking }
}

// How much each output changes with more and more padding.
export function padding({ padding: { tokens, streams }, width, height, palette, words, hovered }) {
  const high = Math.max(1e-3, ...streams.flatMap(({ cells }) => [...cells]))
  const each = (height - 18 * (streams.length - 1)) / streams.length
  return stacked(streams.map(({ stream, cells }, i) => ({
    name: stream, palette,
    numbers: { cells, low: 0, high, keys: tokens, queries: Array.from({ length: cells.length / tokens.length }, (_, n) => String(n + 1)), removed: null },
    titles: { queries: words["masks.padding.pads"], keys: words[`masks.padding.${stream}`] },
    box: { x: 0, y: i * (each + 18), width, height: each },
    value: words["masks.change"],
  })), hovered, words)
}

function stacked(parts, hovered, words) {
  const drawn = parts.map((part) => ({
    ...part, ...matrix({ ...part, zoom: null, state: PLAIN, hovered: hovered?.name === part.name ? hovered : null }),
  }))
  const at = (x, y) => {
    for (const { name, numbers, value, at: of } of drawn) {
      const cell = of(x, y)
      if (!cell) continue
      const number = numbers.cells[cell.row * numbers.keys.length + cell.column]
      return {
        hovered: { name, ...cell },
        tip: [["", labelOf(numbers, "row", cell.row)], ["", labelOf(numbers, "column", cell.column)], [value, number.toPrecision(3)]],
      }
    }
    return null
  }
  return { items: drawn.flatMap(({ items }) => items), at, parts: drawn }
}
