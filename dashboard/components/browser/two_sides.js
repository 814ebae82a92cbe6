// A head's pattern twice: as it is, and with something changed.

import { labelOf, matrix } from "./matrix.js"

const PLAIN = { spaces: true, special: "shown", scale: "linear" }
const GAP = 26
const TITLE = 24

// played: { right, broken }, as Python's scene_numbers.py makes them. titles: what stands above each; queries: what the rows are.
export function twoSides({ played, titles, queries, width, height, palette, words, hovered }) {
  const each = (width - GAP) / 2
  const sides = ["right", "broken"].map((side, i) => {
    const x = i * (each + GAP), numbers = played[side]
    const drawn = matrix({
      numbers, palette, zoom: null, state: PLAIN, titles: { queries, keys: words[`axis.keys.${numbers.keys_of}`] },
      hovered: hovered?.side === side ? hovered : null, box: { x, y: TITLE, width: each, height: height - TITLE },
    })
    const title = { type: "text", x, y: 9, text: titles[side], size: 15, bold: true, fill: side === "right" ? palette.text : palette.strong }
    return { side, numbers, ...drawn, items: [title, ...drawn.items] }
  })
  const at = (x, y) => {
    for (const { side, numbers, at: of } of sides) {
      const cell = of(x, y)
      if (!cell) continue
      const value = numbers.cells[cell.row * numbers.keys.length + cell.column]
      return {
        hovered: { side, ...cell },
        tip: [
          [words["hover.query"], labelOf(numbers, "row", cell.row)],
          [words["hover.key"], labelOf(numbers, "column", cell.column)],
          value === value ? [words["hover.weight"], value.toFixed(4)] : [words["hover.blocked"], ""],
        ],
      }
    }
    return null
  }
  return { items: sides.flatMap(({ items }) => items), at, sides }
}
