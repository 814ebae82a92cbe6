// One head of a text too long to be drawn cell by cell: the part in view, several cells to a square until one comes
// close enough.

import { matrix } from "../../matrix.js"
import { binTip } from "../../tips.js"

const SIDE = 512  // squares along each side, at most

export const far = {
  zooms: true,

  // What to ask the server for: a little more than is in view, so that a movement does not show an edge at once.
  asked(run, state, zoom) {
    const window = (edges) => (edges ? `${Math.max(0, Math.floor(edges[0]))}-${Math.ceil(edges[1])}` : "")
    return {
      ...run.asked(state, state), rows_in_view: window(zoom?.rows), columns_in_view: window(zoom?.columns), side: SIDE, pool: state.pool,
    }
  },

  picture({ heads: [numbers], state, run, palettes, width, height, words, hovered, zoom }) {
    const drawn = matrix({
      numbers, state, zoom, hovered, palette: palettes[state.kind], box: { x: 0, y: 0, width, height },
      titles: run.axes(state.kind, state), size: 13,
    })
    return {
      ...drawn,
      at(x, y) {
        const cell = drawn.at(x, y)
        return cell && { hovered: cell, tip: binTip(numbers, cell, state, words) }
      },
    }
  },
}
