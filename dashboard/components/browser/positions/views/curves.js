// Some dimensions over the positions, a curve each.

import { axes, curve, inside, written } from "../../axes.js"
import { textWidth } from "../../draw.js"
import { lineOf } from "../../line_colours.js"
import { filled } from "../../words.js"
import { DIGITS, dimensionName, positionAxis, positionName } from "../names.js"
import { picker } from "../picker.js"

const LEGEND = { size: 13, pitch: 19, sample: 22, gap: 20 }
const DOTS_UP_TO = 80  // positions

export const curves = {
  requests: (state, table) => [["positions"], ...(table.kind === "sinusoidal" ? [["position_waves"]] : [])],

  picture({ numbers: [vectors, waves], state, table, palette, words, width, height, hovered }) {
    const { length } = table
    const drawn = state.dimensions.map((dimension, number) => ({
      dimension, line: lineOf(number, palette), values: Array.from({ length }, (_, at) => vectors.cells[at * table.width + dimension]),
    }))
    const legend = samples(drawn, waves, words, palette, width)
    const most = table.kind === "sinusoidal" ? 1 : Math.max(...drawn.flatMap(({ values }) => values.map(Math.abs))) || 1
    const chart = axes({
      box: { x: 0, y: legend.height, width, height: height - legend.height },
      x: positionAxis(table, words, width - 90), y: { from: -most * 1.04, to: most * 1.04, label: words["positions.axis.value"] }, palette,
    })
    const pointed = hovered && hovered.position < length ? hovered.position : null
    const dots = length <= DOTS_UP_TO ? [...Array(length).keys()] : pointed === null ? [] : [pointed]
    return {
      items: [
        ...legend.items,
        ...chart.items,
        { type: "line", x1: chart.plot.x, x2: chart.plot.x + chart.plot.width, y1: chart.y(0), y2: chart.y(0), stroke: palette.faint },
        ...(pointed === null ? [] : [{ type: "line", x1: chart.x(pointed), x2: chart.x(pointed), y1: chart.plot.y, y2: chart.plot.y + chart.plot.height, stroke: palette.faint }]),
        ...drawn.flatMap(({ dimension, values, line }) => curve(values, (at) => at, chart, { ...line, dimension, values })),
        ...drawn.flatMap(({ values, line }) => dots.map((at) => dot(chart, at, values[at], line.stroke, at === pointed ? 4.5 : 2.8))),
      ],
      plot: chart.plot,
      at(x, y) {
        if (!inside(chart.plot, x, y)) return null
        const position = Math.max(0, Math.min(length - 1, Math.round(chart.back(x))))
        const tip = drawn.map(({ dimension, values }) => [dimensionName(dimension, words), written(values[position], DIGITS)])
        return { hovered: { position }, tip: [[words["positions.position"], positionName(position, table)], ...tip] }
      },
    }
  },

  says({ numbers: [, waves], state, table, words }) {
    if (!waves) return words["positions.says.curves.learned"]
    const lengths = state.dimensions.map((one) => waves.cells[one])
    const quick = Math.min(...lengths), slow = Math.max(...lengths)
    const name = quick === slow ? "positions.says.curves.one" : "positions.says.curves"
    return filled(words[name], { quick: written(quick, 1), slow: written(slow, 1), length: written(table.length) })
  },

  controls: picker,
}

function dot(chart, at, value, fill, radius) {
  return { type: "rect", x: chart.x(at) - radius, y: chart.y(value) - radius, width: 2 * radius, height: 2 * radius, radius, fill }
}

// A piece of each line with its name, in as many rows as it takes.
function samples(drawn, waves, words, palette, width) {
  const items = []
  let x = 8, row = 0
  for (const { dimension, line } of drawn) {
    const wave = waves && filled(words[waves.sine[dimension] ? "positions.sine" : "positions.cosine"], { wavelength: written(waves.cells[dimension], 1) })
    const text = wave ? `${dimensionName(dimension, words)}: ${wave}` : dimensionName(dimension, words)
    const wide = LEGEND.sample + 6 + textWidth(text, LEGEND)
    if (x > 8 && x + wide > width) [x, row] = [8, row + 1]
    const y = LEGEND.pitch * (row + 0.5)
    items.push({ type: "line", x1: x, x2: x + LEGEND.sample, y1: y, y2: y, lineWidth: 3, ...line })
    items.push({ type: "text", x: x + LEGEND.sample + 6, y, text, size: LEGEND.size, fill: palette.text })
    x += wide + LEGEND.gap
  }
  return { items, height: LEGEND.pitch * (row + 1) + 6 }
}
