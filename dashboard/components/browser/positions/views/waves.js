// After how many tokens each dimension comes round again.

import { axes, inside, written } from "../../axes.js"
import { lineOf } from "../../line_colours.js"
import { filled } from "../../words.js"
import { toggled } from "../lab.js"
import { dimensionName } from "../names.js"

const RADIUS = { least: 1.6, most: 4.5, chosen: 5.5 }

export const waves = {
  lacks: ({ kind }) => (kind === "sinusoidal" ? null : "positions.lacks.waves"),

  requests: () => [["position_waves"]],

  picture({ numbers: [{ cells, sine }], state, table, palette, words, width, height, hovered }) {
    const longest = Math.max(...cells, table.length)
    const chart = axes({
      box: { x: 0, y: 0, width, height }, palette,
      x: { from: 0, to: Math.max(1, table.width - 1), label: words["positions.axis.dimension"], whole: true },
      y: { from: 3, to: longest * 1.6, label: words["positions.axis.wavelength"], log: true },
    })
    const radius = Math.max(RADIUS.least, Math.min(RADIUS.most, chart.plot.width / table.width / 3))
    const dots = [...cells].map((value, dimension) => {
      const number = state.dimensions.indexOf(dimension), size = number >= 0 || hovered?.dimension === dimension ? RADIUS.chosen : radius
      return {
        type: "rect", x: chart.x(dimension) - size, y: chart.y(value) - size, width: 2 * size, height: 2 * size, radius: size,
        fill: number >= 0 ? lineOf(number, palette).stroke : palette.strong, opacity: number >= 0 || value <= table.length ? 1 : 0.35, dimension, value,
      }
    })
    const limit = chart.y(table.length), low = table.length ** 2 < longest * Math.min(...cells)  // the dots pass it on the left
    return {
      items: [
        ...chart.items,
        ...dots.filter(({ dimension }) => !state.dimensions.includes(dimension)),
        ...dots.filter(({ dimension }) => state.dimensions.includes(dimension)),
        { type: "line", x1: chart.plot.x, x2: chart.plot.x + chart.plot.width, y1: limit, y2: limit, stroke: palette.text, dash: [5, 4], limit: table.length },
        {
          type: "text", x: low ? chart.plot.x + chart.plot.width - 6 : chart.plot.x + 8, y: limit - 10, anchor: low ? "end" : "start",
          text: filled(words["positions.waves.limit"], { length: written(table.length) }), size: 13, fill: palette.text,
        },
      ],
      plot: chart.plot,
      at(x, y) {
        if (!inside(chart.plot, x, y)) return null
        const dimension = Math.max(0, Math.min(table.width - 1, Math.round(chart.back(x))))
        const wavelength = cells[dimension]
        return {
          hovered: { dimension },
          tip: [
            [dimensionName(dimension, words), words[sine[dimension] ? "positions.sine.name" : "positions.cosine.name"]],
            [words["positions.wavelength"], filled(words["positions.tokens"], { tokens: written(wavelength, 2) })],
            [words["positions.step"], filled(words["positions.radians"], { angle: written((2 * Math.PI) / wavelength, 6) })],
          ],
          select: { dimensions: toggled(state.dimensions, dimension), curve: 0 },
        }
      },
    }
  },

  origin: "positions.about.base",

  says({ numbers: [{ cells }], table, words }) {
    const turning = cells.filter((one) => one <= table.length).length
    return filled(words["positions.says.waves"], {
      shortest: written(Math.min(...cells), 2), longest: written(Math.max(...cells)), turning: written(turning),
      width: written(table.width), length: written(table.length),
    })
  },
}
