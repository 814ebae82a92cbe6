// One head as a heat map.

import { matrix } from "../../matrix.js"
import { cellTip } from "../../tips.js"

export const heat = {
  zooms: true,

  requests: (state, run) => [{ kind: state.kind, layer: state.layer, head: state.head }],

  picture({ heads: [numbers], state, run, palettes, width, height, words, hovered, zoom }) {
    const drawn = matrix({
      numbers, state, zoom, hovered,
      palette: palettes[state.kind],
      box: { x: 0, y: 0, width, height },
      titles: run.axes(state.kind, state),
      marked: state.pair ? [state.pair] : [],
      size: 14,
    })
    return {
      items: drawn.items,
      plot: drawn.plot,
      seen: drawn.seen,
      at(x, y) {
        const cell = drawn.at(x, y)
        return cell && {
          hovered: cell,
          tip: cellTip(numbers, cell, state, words),
          select: { pair: [cell.row, cell.column] },
        }
      },
    }
  },
}
