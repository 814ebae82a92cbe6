// The turn in numbers: the matrix, the vector of p, and what comes of them, beside what the table has.

import { written } from "../../../axes.js"
import { paragraph } from "../../../parts.js"
import { filled } from "../../../words.js"
import { DIGITS, offsetName } from "../../names.js"

// Parts that stand one under another, as in parts.js.
export function equation({ found, from, to, state, table, palette, words, box }) {
  const place = state.offset + table.length - 1
  const turn = [...found.turns.slice(4 * place, 4 * place + 4)]
  const turned = [turn[0] * from[0] + turn[1] * from[1], turn[2] * from[0] + turn[3] * from[1]]
  const size = Math.max(11, Math.min(26, box.width / 25))
  const say = (text) => paragraph(text, { width: box.width, size: 15, palette }, { fill: palette.text })
  const angle = found.step * state.offset
  const gaps = { step: written(found.step, 6), offset: offsetName(state.offset), angle: written(angle, 4), degrees: written((angle * 180) / Math.PI, 1) }
  const there = { position: written(state.position + state.offset), values: to.map((one) => written(one, DIGITS)).join(", ") }
  const symbols = ["cos kω", "sin kω", "−sin kω", "cos kω"]
  return [
    say(filled(words["positions.rotation.angle"], gaps)),
    row(symbols, ["PE(p)", ""], ["PE(p + k)", ""], size, palette, false),
    row(turn.map((one) => written(one, DIGITS)), from.map((one) => written(one, DIGITS)), turned.map((one) => written(one, DIGITS)), size, palette, true),
    say(filled(words["positions.rotation.there"], there)),
  ]
}

// [2 × 2] · [2] = [2], in brackets.
function row(turn, from, to, size, palette, mono) {
  const cell = size * 5, pitch = size * 1.7, height = 2 * pitch, gap = size * 0.5
  const items = []
  let x = 0
  const text = (at, line, said, fill) => items.push({ type: "text", x: at, y: pitch * (line + 0.5), text: said, anchor: "middle", size, mono, fill })
  const sign = (said) => {
    items.push({ type: "text", x: x + size * 0.7, y: height / 2, text: said, anchor: "middle", size, fill: palette.text })
    x += size * 1.4
  }
  const brackets = (columns, fill) => {
    const wide = columns.length * cell
    for (const [edge, inward] of [[x, 5], [x + wide, -5]]) {
      items.push({ type: "path", points: [edge + inward, 2, edge, 2, edge, height - 2, edge + inward, height - 2], stroke: palette.faint, lineWidth: 1.5 })
    }
    columns.forEach((column, at) => {
      const lines = column[1] === "" ? [[0.5, column[0]]] : column.map((said, line) => [line, said])
      for (const [line, said] of lines) text(x + cell * (at + 0.5), line, said, fill)
    })
    x += wide + gap
  }
  brackets([[turn[0], turn[2]], [turn[1], turn[3]]], palette.text)
  sign("·")
  brackets([from], palette.strong)
  sign("=")
  brackets([to], palette.negative)
  return { items, height }
}
