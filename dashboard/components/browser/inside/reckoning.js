// One number taken apart, in digits for the last row of a hall: its terms, their sum, and what is done to it.

import { textWidth } from "../draw.js"
import { number } from "../parts.js"
import { direction, filled, fitted } from "../words.js"

const LARGEST = 58, SMALLEST = 21  // pixels from row to row
const COMFORTABLE = 31  // the same where terms are left out anyway
const BAND = 0.14  // opacity of the ground of the number itself
const LABEL = 3.4  // the widest name of a term, in letters' heights

// cell: as Python's cell_numbers gives it. names: of the terms, where they have some; chosen: which of them is looked at.
export function reckoning({ cell, title, names, chosen, box, palette, words }) {
  const heading = { type: "text", x: box.x, y: box.y + 10, text: fitted(title, box.width, (text) => textWidth(text, { size: 15, bold: true })), size: 15, bold: true, fill: palette.text }
  const room = box.height - 26
  const count = cell.results?.length ?? 0
  const most = (pitch) => Math.max(2, Math.floor(room / pitch) - cell.lines.length)
  const shown = count <= most(SMALLEST) ? [...Array(count).keys()] : largest(cell.results, most(COMFORTABLE) - 1, chosen)
  const rows = [...shown.map((at) => term(cell, at, names, chosen)), ...(shown.length < count ? [rest(cell, shown, words)] : [])]
  rows.push(...cell.lines.map((line, at) => lineOf(line, at, cell, words)))
  const pitch = Math.min(LARGEST, room / rows.length)
  const size = fitting(rows, pitch * 0.66, box.width)
  const items = [heading], spots = [], columns = columnsOf(rows, size)
  rows.forEach((row, at) => {
    const y = box.y + 26 + pitch * at
    if (row.own) items.push({ type: "rect", x: box.x, y, width: box.width, height: pitch, radius: 5, fill: palette.strong, opacity: BAND })
    if (row.first && at) items.push({ type: "line", x1: box.x, x2: box.x + box.width, y1: y, y2: y, stroke: palette.blocked })
    items.push(...written(row, columns, { ...box, y: y + pitch / 2 }, size, palette))
    if (row.tip) spots.push({ x: box.x, y, width: box.width, height: pitch, hovered: { part: "row", at }, tip: row.tip })
  })
  return { items, spots }
}

// The places of the terms that weigh most, in their own order; the chosen one is among them.
function largest(results, most, chosen) {
  const order = [...results.keys()].sort((one, other) => Math.abs(results[other]) - Math.abs(results[one]))
  const kept = order.slice(0, most)
  if (chosen !== null && chosen >= 0 && !kept.includes(chosen)) kept[kept.length - 1] = chosen
  return kept.sort((one, other) => one - other)
}

function term({ left, right, results }, at, names, chosen) {
  const made = right
    ? [digits(left[at]), " × ", digits(right[at])]
    : ["e^", digits(left[at]), ""]
  return { label: names?.[at] ?? String(at + 1), mono: Boolean(names), made, power: !right, result: digits(results[at]), bold: at === chosen, tip: tipOf(right ? [left[at], right[at]] : [left[at]], results[at]) }
}

function rest({ results }, shown, words) {
  const left = results.reduce((sum, value, at) => (shown.includes(at) ? sum : sum + value), 0)
  return { label: filled(words["inside.more"], { count: results.length - shown.length }), faint: true, result: digits(left) }
}

function lineOf({ sign, number: operand, result }, at, cell, words) {
  const text = filled(words[`inside.line.${sign}`], { number: operand === null ? "−∞" : digits(operand) })
  const after = at > cell.own
  return { label: text, first: at === 0 && cell.results !== null, own: at === cell.own, faint: after, bold: at === cell.own, result: result === null ? "−∞" : digits(result), tip: tipOf(operand === null ? [] : [operand], result) }
}

function tipOf(operands, result) {
  const exact = (value) => (value === null ? "−∞" : number(value, 6))
  return [[operands.map(exact).join("  "), exact(result)]]
}

// Two decimals; four for what is smaller than they can show, and none for what needs none.
export function digits(value) {
  if (Number.isInteger(value)) return number(value, 0)
  const size = Math.abs(value)
  return number(value, size < 0.005 ? 4 : size >= 1000 ? 0 : 2)
}

// How wide the columns are: the second factors, the sign between both, and what comes out.
function columnsOf(rows, size) {
  const widest = (texts) => Math.max(0, ...texts.map((text) => textWidth(text, { size, bold: true })))
  const made = rows.filter((row) => row.made)
  const factors = (at) => widest(made.map((row) => row.made[at]))
  return { first: factors(0), second: factors(2), sign: size * 1.2, result: widest(rows.map((row) => row.result)) + (made.length ? size * 1.3 : 0) }
}

// As large as rows allow.
function fitting(rows, size, width) {
  const { first, second, sign, result } = columnsOf(rows, size)
  const label = ({ label, made, mono }) => (made ? Math.min(textWidth(label, { size: size * 0.7, mono }), size * LABEL) : textWidth(label, { size: size * 0.8 }))
  const needed = Math.max(...rows.map((row) => label(row) + 30 + result + (row.made ? first + sign + second : 0)))
  return Math.max(11, Math.min(size, (size * width) / needed))
}

// A row: what it is called, how it is made, and what comes out, which stand under each other in all rows.
function written(row, columns, { x, y, width }, size, palette) {
  const { second, sign, result } = columns
  const right = x + width - 6, end = right - result
  const style = { type: "text", y, size, fill: row.faint ? palette.faint : palette.text, bold: row.bold }
  const came = { ...style, x: right, text: row.result, anchor: "end" }
  if (!row.made) return [came, { ...style, x: x + 6, text: row.label, size: size * 0.8 }]
  const small = { size: size * 0.7, mono: row.mono }
  const name = fitted(row.label, size * LABEL, (text) => textWidth(text, small))
  const [first, middle, last] = row.made
  const items = [
    came,
    { ...style, x: x + 6, text: name, ...small, fill: palette.faint, direction: direction(name) },
    { ...style, x: end + size * 0.65, text: "=", anchor: "middle", fill: palette.faint, bold: false },
  ]
  if (row.power) {
    const raised = { size: size * 0.72 }
    const wide = textWidth(middle, { ...raised, bold: row.bold })
    return [...items, { ...style, x: end, text: middle, anchor: "end", y: y - size * 0.28, ...raised }, { ...style, x: end - wide, text: "e", anchor: "end" }]
  }
  return [
    ...items, { ...style, x: end, text: last, anchor: "end" },
    { ...style, x: end - second - sign / 2, text: "×", anchor: "middle", fill: palette.faint, bold: false },
    { ...style, x: end - second - sign, text: first, anchor: "end" },
  ]
}
