// Why a query gives a key its weight: the row from scores to softmax, the dot product by dimension and, in the first
// layer, by token and position. A picture as views are, drawn beside them.

import { textWidth } from "../../draw.js"
import { number, paragraph, stacked } from "../../parts.js"
import { direction, filled, fitted, shown } from "../../words.js"
import { charts } from "./charts.js"
import { walk } from "./walk.js"

const COMFORTABLE = 500, SMALLEST = 0.72  // pixels of height for letters of full size; how small they may become
const GAP = 12
const STRIP = { least: 38, most: 120 }  // the height of the bars of the dimensions
const BACK = { width: 34, height: 27 }  // of the button in the corner

export const pair = {
  // numbers: as Python's pair_numbers.py makes them.
  picture({ numbers, state, run, palettes, width, height, words, hovered }) {
    const scale = Math.min(1, Math.max(SMALLEST, height / COMFORTABLE))
    const page = { numbers, state, words, hovered, width: width - 6, scale, palette: palettes[state.kind], size: 12.5 * scale }
    const gap = GAP * scale
    const above = heading(page, run)
    const below = (strip) => (numbers.scores ? charts(page, strip) : [paragraph(words["pair.mean"], page)])
    const taken = [above, ...below(STRIP.least)].reduce((sum, part) => sum + part.height + gap, 0)
    const row = walk(page, height - taken), left = Math.max(0, height - taken - row.height)
    const { items, spots } = stacked([above, row, ...below(Math.min(STRIP.most, STRIP.least + left))], gap)
    return {
      items,
      at: (x, y) => spots.find((spot) => x >= spot.x && x < spot.x + spot.width && y >= spot.y && y < spot.y + spot.height) ?? null,
    }
  },
}

function heading(page, run) {
  const { numbers, state, words, palette, width, size } = page
  const style = { size: size * 1.2, mono: true, bold: true }
  const name = (label) => fitted(shown(label, state), (width - BACK.width) / 2 - 16, (text) => textWidth(text, style))
  const query = name(numbers.query), key = name(numbers.key), line = style.size * 1.5
  const text = (x, text) => ({ type: "text", x, y: line / 2, text, fill: palette.strong, direction: direction(text), ...style })
  const after = textWidth(query, style)
  const items = [text(0, query), { ...text(after + 5, "→"), fill: palette.faint }, text(after + 10 + textWidth("→", style), key)]
  const said = [run.name(state), standing(numbers, words)]
  if (numbers.norm !== null) said.push(filled(words["pair.norm"], { norm: number(numbers.norm) }))
  const parts = [{ items, height: Math.max(line, BACK.height) }, paragraph(said.join(" · "), page)]
  const tokens = { query: shown(numbers.tokens.query, state), key: shown(numbers.tokens.key, state) }
  if (numbers.pairs > 1) parts.push(paragraph(filled(words["pair.inside"], { pairs: numbers.pairs, ...tokens }), page))
  if (run.naming(state.kind, state) === "predicted") parts.push(paragraph(filled(words["pair.read"], { read: shown(numbers.read, state) }), page))
  if (state.special === "hidden") parts.push(paragraph(words["pair.hidden"], page))
  return stacked(parts, 0)
}

function standing({ rank, allowed, blocked, column }, words) {
  if (blocked[column]) return words["hover.blocked"]
  return allowed === 1 ? words["pair.only"] : filled(words["pair.rank"], { rank, allowed })
}
