// The encoder's, the decoder's and the cross attention of one layer and head, side by side.

import { matrix } from "../../matrix.js"
import { cellTip } from "../../tips.js"

const TITLE = 24, GAP = 18  // pixels
const LABELS = { width: 110, height: 90 }  // what they take of a matrix's room, about

export const three = {
  alone: true,  // no overview beside it: three pictures need the room

  // The selected kind's first; of a kind with fewer layers or heads the last.
  requests: (state, run) => [...run.kinds]
    .sort((one, other) => (other.kind === state.kind) - (one.kind === state.kind))
    .map(({ kind }) => {
      const { layer, head } = run.fitted({ ...state, kind })
      return { kind, layer, head }
    }),

  picture({ heads, state, run, palettes, width, height, words, hovered }) {
    const asked = three.requests(state, run)
    const shown = run.kinds.map(({ kind }) => {
      const at = asked.findIndex((one) => one.kind === kind)
      return { ...asked[at], numbers: heads[at] }
    })
    const boxes = arranged(shown.map(({ numbers }) => numbers), width, height)
    const parts = shown.map((one, i) => drawn(one, boxes[i], { state, run, palette: palettes[one.kind], hovered }))
    return {
      items: parts.flatMap((part) => part.items),
      parts: parts.map(({ kind, plot, numbers }) => ({ kind, plot, numbers })),  // for tests
      at(x, y) {
        for (const { kind, numbers, at } of parts) {
          const cell = at(x, y)
          if (!cell) continue
          return { hovered: { kind, ...cell }, tip: cellTip(numbers, cell, state, words), select: { kind, pair: [cell.row, cell.column] } }
        }
        return null
      },
    }
  },
}

function drawn({ kind, layer, head, numbers }, box, { state, run, palette, hovered }) {
  const title = { type: "text", x: box.x, y: box.y + TITLE / 2, text: run.name({ kind, layer, head }), size: 14, bold: true, fill: palette.strong, kind }
  const { items, plot, at } = matrix({
    numbers, palette, state, box: { ...box, y: box.y + TITLE, height: box.height - TITLE }, titles: run.axes(kind, state),
    marked: kind === state.kind && state.pair ? [state.pair] : [], hovered: hovered?.kind === kind ? hovered : null, size: 12,
  })
  return { kind, numbers, plot, at, items: [title, ...items] }
}

// Where each stands: in that of a few arrangements in which the smallest cell is largest.
function arranged(all, width, height) {
  const across = (count, y, high) => Array.from({ length: count }, (_, i) => {
    const wide = (width - (count - 1) * GAP) / count
    return { x: i * (wide + GAP), y, width: wide, height: high }
  })
  const row = across(all.length, 0, height), half = (height - GAP) / 2
  const choices = all.length === 3 ? [[...across(2, 0, half), ...across(1, half + GAP, half)], row] : [row]
  const smallest = (boxes) => Math.min(...boxes.map((box, i) => Math.min(
    (box.width - LABELS.width) / all[i].keys.length, (box.height - TITLE - LABELS.height) / all[i].queries.length)))
  return choices.reduce((best, one) => (smallest(one) > smallest(best) ? one : best))
}
