// The whole table: a row for each position, a column for each dimension.

import { written } from "../../axes.js"
import { lineOf } from "../../line_colours.js"
import { matrix } from "../../matrix.js"
import { filled } from "../../words.js"
import { toggled } from "../lab.js"
import { DIGITS, dimensionName, positionName, rounded, rowNames } from "../names.js"

const MARK = 4  // pixels

export const table = {
  zooms: true,
  size: ({ length, width }) => ({ rows: length, columns: width }),

  requests: () => [["positions"]],

  picture({ numbers: [vectors], state, table: shown, palette, words, width, height, hovered, zoom }) {
    const numbers = {
      ...vectors,
      queries: rowNames(shown),
      keys: Array.from({ length: shown.width }, (_, at) => String(at)),
    }
    const drawn = matrix({
      numbers, palette, zoom, hovered, state: { spaces: true },
      box: { x: 0, y: 0, width, height: height - MARK - 2 },
      titles: { queries: words["positions.axis.position"], keys: words["positions.axis.dimension"] },
    })
    return {
      items: [...drawn.items, ...marks(drawn, state.dimensions, palette)],
      plot: drawn.plot,
      seen: drawn.seen,
      at(x, y) {
        const cell = drawn.at(x, y)
        return cell && {
          hovered: cell,
          tip: [
            [words["positions.position"], positionName(cell.row, shown)],
            [dimensionName(cell.column, words), written(vectors.cells[cell.row * shown.width + cell.column], DIGITS)],
          ],
          select: { dimensions: toggled(state.dimensions, cell.column), curve: 0 },
        }
      },
    }
  },

  says({ table: { kind, layout }, words }) {
    if (kind !== "sinusoidal") return words["positions.says.table.learned"]
    return words[layout === "halves" ? "positions.says.table.halves" : "positions.says.table"]
  },

  about: ({ numbers: [{ most }], words, ...scene }) => [filled(words["positions.about.colours"], { most: rounded(most) }), ...crowded(scene, words)],
}

// Where cells are smaller than the points of the screen, stripes may show that are not there.
function crowded({ table: { length, width: dimensions }, width, height, zoom }, words) {
  const seen = zoom ?? { rows: [0, length], columns: [0, dimensions] }
  const small = seen.rows[1] - seen.rows[0] > height * window.devicePixelRatio || seen.columns[1] - seen.columns[0] > width * window.devicePixelRatio
  return small ? [words["positions.about.crowded"]] : []
}

// Under the columns that are drawn as curves, their colours.
function marks({ plot, seen }, dimensions, palette) {
  const side = plot.width / (seen.columns[1] - seen.columns[0])
  return dimensions.map((dimension, number) => ({
    type: "rect", x: plot.x + (dimension - seen.columns[0]) * side, y: plot.y + plot.height + 2, width: Math.max(2, side), height: MARK,
    fill: lineOf(number, palette).stroke, dimension,
  })).filter(({ x, width }) => x >= plot.x - 0.01 && x + width <= plot.x + plot.width + 2.01)
}
