// The row of a query: each key's score, what the mask adds to it, and the weight that the softmax over the row makes of them.

import { textWidth } from "../../draw.js"
import { number, paragraph } from "../../parts.js"
import { direction, filled, fitted, shown } from "../../words.js"

const MOST_ROWS = 14
const CHOSEN = 0.14, OTHERS = 0.5  // opacity of the chosen row's ground, and of the bars of the other rows

export function walk(page, room) {
  const { numbers, words, palette, width, size } = page
  const pitch = size * 1.36
  const fit = Math.max(1, Math.min(MOST_ROWS, Math.floor(room / pitch) - 1))
  const places = numbers.keys.length <= fit ? [...numbers.keys.keys()] : strongest(numbers, Math.max(1, fit - 1))
  const columns = columnsOf(page, places)
  const items = [...titles(columns, page, pitch)], spots = []
  places.forEach((place, at) => {
    const y = pitch * (at + 1)
    items.push(...row(place, y, pitch, columns, page))
    spots.push({ x: 0, y, width, height: pitch, ...pointed(place, page) })
  })
  const height = pitch * (places.length + 1)
  const left = numbers.keys.length - places.length
  if (!left) return { items, spots, height }
  const drawn = places.reduce((sum, place) => sum + numbers.weights[place], 0)
  const more = paragraph(filled(words["pair.more"], { keys: left, weight: number(Math.max(0, 1 - drawn)) }), page)
  items.push(...more.items.map((item) => ({ ...item, y: item.y + height, fill: palette.faint })))
  return { items, spots, height: height + more.height }
}

// The chosen key and those with the largest weights, in the order of the text.
function strongest({ weights, column }, most) {
  const order = [...weights.keys()].sort((one, other) => weights[other] - weights[one])
  const others = order.filter((key) => key !== column).slice(0, most - 1)
  return [column, ...others].sort((one, other) => one - other)
}

function columnsOf({ numbers, state, width, size }, places) {
  const style = { size, mono: true }
  const measure = (text) => textWidth(text, style)
  const name = (label) => fitted(shown(label, state), width * (numbers.scores ? 0.27 : 0.4), measure)
  const names = new Map(places.map((place) => [place, name(numbers.keys[place])]))
  const label = Math.max(...[...names.values()].map(measure)) + 8, digits = size * 3.7
  const score = label + digits, mask = score + digits
  const bar = numbers.scores ? mask + size * 1.2 : label + 4
  return { names, score, mask, bar, most: width - bar - size * 2.6, full: Math.max(...numbers.weights) || 1 }
}

function titles({ score, mask, bar }, { numbers, words, palette, size }, pitch) {
  const style = { type: "text", y: pitch / 2, size: size * 0.92, fill: palette.faint }
  const sides = [{ ...style, x: 0, text: words["hover.key"] }, { ...style, x: bar, text: words[numbers.scores ? "pair.weight" : "hover.weight"] }]
  if (!numbers.scores) return sides
  return [...sides, { ...style, x: score, text: words["hover.score"], anchor: "end" }, { ...style, x: mask, text: words["pair.mask"], anchor: "end" }]
}

function row(place, y, pitch, columns, { numbers, state, palette, hovered, width, size }) {
  const chosen = place === numbers.column, blocked = numbers.blocked[place]
  const name = columns.names.get(place), faint = numbers.special[place] && state.special !== "shown"
  const style = { type: "text", y: y + pitch / 2, size, bold: chosen, fill: blocked ? palette.faint : palette.text }
  const long = (columns.most * numbers.weights[place]) / columns.full
  const items = [
    { ...style, x: 4, text: name, mono: true, direction: direction(name), opacity: faint ? 0.6 : 1 },
    { type: "rect", x: columns.bar, y: y + pitch * 0.18, width: long, height: pitch * 0.64, fill: palette.strong, opacity: chosen ? 1 : OTHERS },
    { ...style, x: columns.bar + long + 4, text: blocked ? "0" : number(numbers.weights[place]) },
  ]
  if (numbers.scores) {
    items.push({ ...style, x: columns.score, text: number(numbers.scores[place]), anchor: "end" })
    items.push({ ...style, x: columns.mask, text: blocked ? "−∞" : added(numbers.mask[place]), anchor: "end" })
  }
  if (chosen || (hovered?.part === "row" && hovered.place === place)) {
    items.unshift({ type: "rect", x: 0, y, width, height: pitch, radius: 3, fill: palette.strong, opacity: chosen ? CHOSEN : CHOSEN / 2 })
  }
  return items
}

function added(mask) {
  return mask === 0 ? "0" : number(mask)
}

function pointed(place, { numbers, state, words }) {
  const tip = [[words["hover.key"], numbers.keys[place]]]
  if (numbers.scores) tip.push([words["hover.score"], number(numbers.scores[place], 4)])
  if (numbers.scores && numbers.mask[place]) tip.push([words["pair.mask"], number(numbers.mask[place], 4)])
  tip.push(numbers.blocked[place] ? [words["hover.blocked"], ""] : [words["hover.weight"], number(numbers.weights[place], 4)])
  const column = numbers.columns[place]
  return { hovered: { part: "row", place }, tip, select: column < 0 ? undefined : { pair: [state.pair[0], column] } }
}
