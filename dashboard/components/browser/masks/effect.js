// What an edit does to a head's pattern: before, after, and the difference.

import { labelOf, matrix } from "../matrix.js"
import { filled } from "../words.js"

export function effect({ numbers, state, width, height, palette, words, run, hovered, zoom }) {
  const { before, after } = numbers
  const shownAs = { spaces: true, special: "shown", scale: "linear" }
  const difference = state.compared === "difference"
  const cells = difference ? differenceOf(numbers) : numbers[state.compared]
  const most = difference ? Math.max(0.05, ...cells.filter((value) => value === value).map(Math.abs)) : undefined
  const drawn = matrix({
    numbers: { ...numbers, cells, most }, palette, state: shownAs, hovered, zoom,
    box: { x: 0, y: 0, width, height }, titles: run.axes(state.kind, words), marked: state.pair ? [state.pair] : [],
  })
  const at = (x, y) => {
    const cell = drawn.at(x, y)
    if (!cell) return null
    const place = cell.row * numbers.keys.length + cell.column
    const say = (value) => (value === value ? value.toFixed(4) : words["hover.blocked"])
    return {
      hovered: cell,
      select: { pair: [cell.row, cell.column] },
      tip: [
        [words["hover.query"], labelOf(numbers, "row", cell.row)],
        [words["hover.key"], labelOf(numbers, "column", cell.column)],
        [words["masks.before"], say(before[place])],
        [words["masks.after"], say(after[place])],
      ],
    }
  }
  const items = difference ? [...drawn.items, ...legend(most, palette, words)] : drawn.items
  return { ...drawn, items, cells, at, whole: { rows: numbers.queries.length, columns: numbers.keys.length } }
}

// What the colours of a difference say, and how far they reach.
function legend(most, palette, words) {
  return [["gained", palette.strong, 0], ["lost", palette.negative, 1]].flatMap(([name, fill, i]) => [
    { type: "rect", x: 0, y: 2 + 16 * i, width: 11, height: 11, fill },
    { type: "text", x: 16, y: 8 + 16 * i, text: filled(words[`masks.${name}`], { most: most.toFixed(2) }), size: 12.5, fill: palette.faint },
  ])
}

const made = new WeakMap()

// After less before; a blocked cell has no weight.
function differenceOf({ before, after }) {
  if (!made.has(after)) made.set(after, Float32Array.from(after, (value, i) => (value || 0) - (before[i] || 0)))
  return made.get(after)
}
