// What an edit does to what the model says: to what it writes by itself, and to the probability of each token.

import { textWidth } from "../draw.js"
import { paragraph } from "../parts.js"
import { direction, filled, fitted } from "../words.js"

const SIZE = 14
const ROW = 22

// written: nothing as long as it has not come; `last` is what came before, for another edit.
export function wordsChanged({ chances, written, last, run, width, height, palette, words }) {
  const items = []
  let y = 4
  const say = (text, style = {}) => {
    const part = paragraph(text, { width: width - 8, size: SIZE, palette }, { fill: palette.text })
    items.push(...part.items.map((item) => ({ ...item, ...style, y: item.y + y, x: direction(text) === "rtl" ? width - 8 : 0, anchor: direction(text) === "rtl" ? "end" : "start", direction: direction(text) })))
    y += part.height + 2
  }
  const heading = (text) => {
    items.push({ type: "text", x: 0, y: y + 8, text, size: 12.5, fill: palette.faint })
    y += 20
  }
  const wrote = written ?? last, way = run.continues ? "continuation" : "translation"
  for (const side of ["before", "after"]) {
    heading(words[`masks.${way}.${side}`])
    const stale = !written && side === "after", { text, finished } = wrote?.[side] ?? { text: "…", finished: true }
    const other = side === "after" && text !== wrote?.before.text
    say(text ? text + (finished ? "" : "…") : words["answer.empty"], { bold: other && !stale, opacity: stale ? 0.45 : 1 })
    y += 6
  }
  heading(filled(words[`masks.chances.${way}`], { before: chances.loss[0].toFixed(2), after: chances.loss[1].toFixed(2) }))
  const room = Math.max(1, Math.floor((height - y - 18) / ROW)), shown = Math.min(room, chances.tokens.length)
  const label = Math.min(150, Math.max(...chances.tokens.map((token) => textWidth(token, { size: SIZE, mono: true })), 20))
  const bar = { x: label + 12, width: Math.max(60, width - label - 150) }
  const spots = []
  for (let i = 0; i < shown; i++) {
    const before = chances.before[i], after = chances.after[i], change = after - before, top = y + i * ROW
    const token = fitted(chances.tokens[i], label, (text) => textWidth(text, { size: SIZE, mono: true }))
    items.push(
      { type: "text", x: label, y: top + ROW / 2, text: token, size: SIZE, mono: true, anchor: "end", fill: palette.text, direction: direction(token) },
      { type: "rect", x: bar.x, y: top + 4, width: bar.width * before, height: 5, fill: palette.faint, opacity: 0.6 },
      { type: "rect", x: bar.x, y: top + 11, width: bar.width * after, height: 7, fill: palette.strong },
      { type: "text", x: bar.x + bar.width + 10, y: top + ROW / 2, text: `${after.toFixed(2)}  (${change < 0 ? "−" : "+"}${Math.abs(change).toFixed(2)})`, size: 13, fill: Math.abs(change) < 0.005 ? palette.faint : palette.text },
    )
    spots.push({ y: top, height: ROW, tip: [[words["masks.token"], chances.tokens[i]], [words["masks.before"], before.toFixed(4)], [words["masks.after"], after.toFixed(4)]] })
  }
  if (shown < chances.tokens.length) {
    items.push({ type: "text", x: bar.x, y: y + shown * ROW + 9, text: filled(words["masks.more"], { count: chances.tokens.length - shown }), size: 12.5, fill: palette.faint })
  }
  const at = (x, down) => {
    const spot = spots.find((one) => down >= one.y && down < one.y + one.height)
    return spot ? { hovered: { y: spot.y }, tip: spot.tip } : null
  }
  return { items, at }
}
