// How alike two positions are: every pair of them, and by how far one lies behind the other.

import { axes, band, curve, inside, written } from "../../axes.js"
import { choice } from "../../controls.js"
import { matrix } from "../../matrix.js"
import { filled } from "../../words.js"
import { DIGITS, offsetAxis, offsetName, positionName, rounded, rowNames } from "../names.js"

export const products = {
  zooms: true,
  size: ({ length }) => ({ rows: length, columns: length }),

  requests: (state) => [["position_products", { measure: state.measure }]],

  picture({ numbers: [found], state, table, palette, words, width, height, hovered, zoom }) {
    const { length } = table, gap = 24
    const wide = Math.min(width * 0.56, height + 90)
    const names = rowNames(table)
    const drawn = matrix({
      numbers: { ...found, queries: names, keys: names }, palette, zoom, state: { spaces: true },
      hovered: hovered?.row === undefined ? null : hovered, box: { x: 0, y: 0, width: wide, height },
      titles: { queries: words["positions.axis.from"], keys: words["positions.axis.to"] },
    })
    const title = words[`positions.measure.${state.measure}`]
    const low = Math.min(0, ...found.low), high = Math.max(...found.high, low + 1e-9), air = (high - low) * 0.05
    const chart = axes({
      box: { x: wide + gap, y: 0, width: width - wide - gap, height }, palette, title: words["positions.by_offset"],
      x: offsetAxis(table, words), y: { from: low - air, to: high + air, label: title },
    })
    const at = (place) => place + 1 - length
    const offset = hovered?.offset ?? (hovered?.row === undefined ? null : hovered.column - hovered.row)
    const known = offset !== null && Math.abs(offset) < length
    return {
      items: [
        ...drawn.items,
        ...chart.items,
        { type: "line", x1: chart.plot.x, x2: chart.plot.x + chart.plot.width, y1: chart.y(0), y2: chart.y(0), stroke: palette.faint },
        ...(known ? [{ type: "line", x1: chart.x(offset), x2: chart.x(offset), y1: chart.plot.y, y2: chart.plot.y + chart.plot.height, stroke: palette.faint }] : []),
        band(found.low, found.high, at, chart, palette.strong),
        ...curve(found.mean, at, chart, { stroke: palette.strong }),
      ],
      plot: drawn.plot,
      seen: drawn.seen,
      chart: chart.plot,
      at(x, y) {
        const cell = drawn.at(x, y)
        if (cell) return { hovered: cell, tip: cellTip(cell, found, table, words, title) }
        if (!inside(chart.plot, x, y)) return null
        const pointed = Math.max(1 - length, Math.min(length - 1, Math.round(chart.back(x))))
        return { hovered: { offset: pointed }, tip: offsetTip(pointed, found, table, words, title) }
      },
    }
  },

  says({ numbers: [found], words }) {
    const spread = Math.max(...found.high.map((high, at) => high - found.low[at]))
    return spread < 1e-3 * found.most ? words["positions.says.products.one"] : filled(words["positions.says.products.many"], { spread: rounded(spread) })
  },

  about: ({ numbers: [{ most }], words }) => [filled(words["positions.about.colours"], { most: rounded(most) })],

  controls(words, change) {
    const measure = choice(words["positions.measure"], ["dot", "cosine"].map((one) => [one, words[`positions.measure.${one}`]]), (one) => change({ measure: one }))
    return [{ element: measure.element, update: (state) => measure.show(state.measure) }]
  },
}

function cellTip({ row, column }, found, table, words, title) {
  return [
    [words["positions.from"], positionName(row, table)],
    [words["positions.to"], positionName(column, table)],
    [words["positions.offset"], offsetName(column - row)],
    [title, written(found.cells[row * table.length + column], DIGITS)],
  ]
}

function offsetTip(offset, found, table, words, title) {
  const place = offset + table.length - 1, { mean, low, high } = found
  const said = [[words["positions.offset"], offsetName(offset)], [title, written(mean[place], DIGITS)]]
  if (high[place] - low[place] < 1e-3 * found.most) return said
  return [...said, [words["positions.range"], `${written(low[place], DIGITS)} … ${written(high[place], DIGITS)}`]]
}
