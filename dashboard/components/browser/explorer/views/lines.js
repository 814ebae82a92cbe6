// Two columns of tokens and a line for each pair: one head, or several at once.

import { lineOf } from "../../line_colours.js"
import { columns, labelled, labels } from "./columns.js"
import { FAINTEST, joint, partOf } from "./strands.js"
import { drawn, linesControls, toggled } from "./lines_controls.js"
import { bars, curves, figures, notes, titles, tokenTip } from "./threads.js"

export const lines = {
  requests: (state) => drawn(state).map((head) => ({ kind: state.kind, layer: state.layer, head })),

  picture({ heads, state, palettes, run, width, height, words, hovered }) {
    const palette = palettes[state.kind], ids = drawn(state), [numbers] = heads
    const threads = heads.map((one, i) => ({
      numbers: one, head: ids[i], line: ids.length > 1 ? lineOf(ids[i], palette) : { stroke: palette.strong },
    }))
    const { queries, keys, count, at, note } = columns({ numbers, state, width, height, heads: heads.length })
    const picked = state.picked.filter((row) => row < queries.names.length)
    const focus = focused(hovered, picked, numbers)
    const ends = focus ? farEnds(threads, focus, state) : []
    const far = focus?.side === "keys" ? queries : keys, near = far === keys ? queries : keys
    const chosen = focus?.places ?? []
    const places = new Map([[near, labelled(near, chosen)], [far, labelled(far, ends.map((one) => one.index))]])
    const mark = (row) => ({
      type: "rect", x: 0, y: queries.y(row - 0.5), width: queries.end, height: queries.pitch, fill: palette.strong, opacity: 0.16, picked: row,
    })
    return {
      items: [
        ...titles(run.axes(state.kind, state), width, palette),
        ...picked.map(mark),
        ...(focus?.joined ? bars(ends, threads, keys, width, focus, state) : []),
        ...curves(threads, focus, queries, keys, state),
        ...labels(queries, places.get(queries), near === queries ? chosen : [], palette, state),
        ...labels(keys, places.get(keys), near === keys ? chosen : [], palette, state),
        ...figures(ends, threads, far, places.get(far), count),
        ...notes(threads, focus, { y: note, width, count, state, words, palette }),
      ],
      at(x, y) {
        const token = at(x, y)
        if (!token) return picked.length ? { hovered: null, select: { picked: [] } } : null
        const tip = tokenTip(token, threads, words)
        return token.side === "keys" ? { hovered: token, tip } : { hovered: token, tip, select: { picked: toggled(picked, token.index) } }
      },
    }
  },

  controls: linesControls,
}

// Whose lines are drawn: the hovered token's, else those of the picked queries; null for everyone's.
function focused(hovered, picked, numbers) {
  const { side, index } = hovered ?? {}
  if (index < numbers[side]?.length && !(side === "queries" && picked.includes(index))) return { side, places: [index] }
  return picked.length ? { side: "queries", places: picked, joined: true } : null
}

// The tokens at the other ends of the lines in focus, the strongest first, with the number that each head has there.
function farEnds(threads, { side, places, joined }, state) {
  const values = threads.map(({ numbers }) => {
    if (side === "queries") return joint(numbers, places, state.joint)
    return Array.from(numbers.queries, (_, row) => numbers.cells[row * numbers.keys.length + places[0]])
  })
  const ends = Array.from(values[0], (_, index) => ({
    index,
    values: values.map((ofHead) => ofHead[index]),
    part: Math.max(...threads.map(({ numbers }, i) => partOf(numbers, values[i][index], state) || 0)),
  }))
  const largest = ({ values: some }) => Math.max(...some.filter((value) => value === value))
  return ends
    .filter((end) => (joined ? end.values.some((value) => value === value) : end.part >= FAINTEST))
    .sort((one, other) => largest(other) - largest(one))
}
