// One pair of dimensions as a plane: each position is a point in it, and the same turn leads k tokens on from any.

import { slider } from "../../controls.js"
import { written } from "../../axes.js"
import { paragraph } from "../../parts.js"
import { player } from "../../player.js"
import { filled } from "../../words.js"
import { walk } from "../lab.js"
import { DIGITS, dimensionName, offsetName, positionName } from "../names.js"
import { equation } from "./rotation/equation.js"
import { plane } from "./rotation/plane.js"

const BEAT = 700  // milliseconds a position

export const rotation = {
  lacks: ({ width }) => (width < 2 ? "positions.lacks.pair" : null),

  requests: (state) => [["position_rotation", { pair: state.pair }]],

  picture({ numbers: [found], state, table, palette, words, width, height, hovered }) {
    const side = Math.min(height, width * 0.5), { position, offset } = state
    const point = (at) => [found.cells[2 * at], found.cells[2 * at + 1]]
    const drawn = plane({ found, state, table, palette, words, hovered, box: { x: 0, y: (height - side) / 2, width: side, height: side } })
    const right = { x: side + 24, width: width - side - 24 }
    const from = point(position), to = point(position + offset)
    const said = found.turns
      ? equation({ found, from, to, state, table, palette, words, box: right })
      : [paragraph(words["positions.rotation.learned"], { width: right.width, size: 15, palette }, { fill: palette.text })]
    const tall = said.reduce((sum, part) => sum + part.height + 14, 0)
    let y = Math.max(0, (height - tall) / 2)
    const items = []
    for (const part of said) {
      items.push(...part.items.map((item) => moved(item, right.x, y)))
      y += part.height + 14
    }
    return {
      items: [...drawn.items, ...items],
      points: { from, to },
      places: drawn.places,
      at(x, y) {
        const near = drawn.near(x, y)
        if (near === null) return null
        const tip = found.features.map((dimension, i) => [dimensionName(dimension, words), written(point(near)[i], DIGITS)])
        return { hovered: { position: near }, tip: [[words["positions.position"], positionName(near, table)], ...tip], select: { position: near } }
      },
    }
  },

  says({ numbers: [found], state, words }) {
    if (!found.turns) return words["positions.says.rotation.learned"]
    const gaps = { offset: offsetName(state.offset), degrees: written((found.step * state.offset * 180) / Math.PI, 1) }
    return filled(words["positions.says.rotation"], gaps)
  },

  about: ({ state, numbers: [found], words }) => (state.values === "free" || !found.turns ? [] : [words["positions.about.matrix"]]),

  controls(words, change) {
    let shown = null
    const pair = slider(words["positions.pair"], 1, (to) => change({ pair: to }), { least: 0, says: (at) => written(at) })
    const offset = slider(words["positions.offset.k"], 1, (to) => change({ offset: to }), { least: 0, says: offsetName })
    const walking = player({
      words, name: words["positions.position.p"], beat: BEAT, go: (step) => change({ position: shown.first + step }),
    })
    return [
      {
        element: pair.element,
        update(state, table) {
          pair.reach(0, Math.floor(table.width / 2) - 1)
          pair.show(state.pair)
        },
      },
      {
        element: offset.element,
        update(state, table) {
          offset.reach(1 - table.length, table.length - 1)
          offset.show(state.offset)
        },
      },
      { element: walking.buttons, update() {} },
      {
        element: walking.slider,
        update(state, table) {
          shown = walk(state, table)
          walking.show(state.position - shown.first, shown.count, shown.first)
        },
      },
    ]
  },
}

function moved(item, dx, dy) {
  const made = { ...item }
  for (const name of ["x", "x1", "x2"]) if (name in item) made[name] += dx
  for (const name of ["y", "y1", "y2"]) if (name in item) made[name] += dy
  if (item.points) made.points = item.points.map((at, i) => at + (i % 2 ? dy : dx))
  return made
}
