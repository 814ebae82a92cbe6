// What the lines view draws besides its labels: lines, bars, numbers and notes.
//
// threads: [{ numbers, head, line }], one for each head that is drawn; focus: { side, places, joined } or null.

import { textWidth } from "../../draw.js"
import { filled, fitted } from "../../words.js"
import { partOf, strands, strandsOf } from "./strands.js"

const LINE = { least: 0.6, most: 4 }  // pixels of width
const BAR = 0.3  // opacity
const NOTE = { size: 12.5 }
const TIPPED = 3  // pairs beside the pointer

export function titles(axes, width, palette) {
  const style = { type: "text", y: 9, size: NOTE.size, fill: palette.faint }
  return [{ ...style, x: 0, text: axes.queries }, { ...style, x: width, anchor: "end", text: axes.keys }]
}

export function curves(threads, focus, queries, keys, state) {
  const ends = { x1: queries.end, x2: keys.end }
  const only = focus && (focus.side === "queries" ? { rows: focus.places } : { column: focus.places[0] })
  const all = threads.flatMap(({ numbers, head, line }) => {
    const found = only ? strandsOf(numbers, state, only) : strands(numbers, state).strands
    return found.map(({ row, column, part, opacity }) => ({
      type: "curve", ...ends, y1: queries.y(row), y2: keys.y(column), ...line,
      lineWidth: LINE.least + (LINE.most - LINE.least) * part, opacity, head, row, column,
    }))
  })
  return threads.length > 1 ? all.sort((one, other) => one.lineWidth - other.lineWidth) : all
}

// Behind the keys, as long as what the picked queries read there together.
export function bars(ends, threads, keys, width, focus, state) {
  const product = state.joint === "product" && focus.places.length > 1
  const largest = Math.max(...ends.flatMap((end) => end.values.filter((value) => value === value)))
  const height = Math.min(keys.pitch, keys.size * 1.6) / threads.length
  return ends.flatMap(({ index, values }) => threads.map(({ numbers, head, line }, i) => {
    const part = product ? values[i] / largest : partOf(numbers, values[i], state)
    const y = keys.y(index) + (i - threads.length / 2) * height
    return { type: "rect", x: keys.label.x - 4, y, width: (width - keys.label.x + 4) * (part || 0), height, fill: line.stroke, opacity: BAR, bar: index, head }
  }))
}

// Numbers beside the far ends: one column a head, or the largest one's where there is no room.
export function figures(ends, threads, column, places, count) {
  return ends.filter((end) => places.includes(end.index)).flatMap(({ index, values }) => {
    const heads = [...values.keys()].filter((head) => values[head] === values[head])
    const largest = heads.reduce((best, head) => (values[head] > values[best] ? head : best), heads[0])
    return (count === values.length ? heads : [largest]).map((i, place) => ({
      type: "text", x: column.figure(count === values.length ? i : place), y: column.y(index), text: brief(values[i]),
      anchor: "end", size: Math.min(12, column.size), mono: true, fill: threads[i].line.stroke, figure: index, head: threads[i].head, value: values[i],
    }))
  })
}

// One line below: whose colour is whose, and what the numbers are or what was left out.
export function notes(threads, focus, { y, width, count, state, words, palette }) {
  const items = []
  let x = 0
  const add = (text, style) => {
    items.push({ type: "text", x, y, text, size: NOTE.size, ...style })
    x += textWidth(text, { ...NOTE, ...style }) + 8
  }
  if (threads.length > 1) {
    add(words["lines.heads"], { fill: palette.faint })
    for (const { head, line } of threads) add(head === "mean" ? words["mean"] : `${head + 1}`, { fill: line.stroke, bold: true })
    x += 12
  }
  const largest = focus && count < threads.length ? [words["lines.note.largest"]] : []  // see figures()
  const said = [...largest, ...note(threads, focus, state, words)].join(" · ")
  if (said) add(fitted(said, width - x, (text) => textWidth(text, NOTE)), { fill: palette.faint })
  return items
}

function note(threads, focus, state, words) {
  if (focus) return focus.joined && focus.places.length > 1 ? [filled(words[`lines.note.${state.joint}`], { picked: focus.places.length })] : []
  const found = threads.map(({ numbers }) => strands(numbers, state)), sum = (counts) => counts.reduce((all, count) => all + count)
  const shown = sum(found.map((one) => one.strands.length)), all = sum(found.map((one) => one.all))
  return shown < all ? [filled(words["lines.note.strongest"], { shown: shown.toLocaleString("en"), all: all.toLocaleString("en") })] : []
}

// A token, and the strongest pairs that it is in.
export function tokenTip({ side, index }, threads, words) {
  const other = side === "queries" ? "keys" : "queries", [{ numbers }] = threads
  const best = threads.flatMap(({ numbers: one, head }) => strandsOfToken(one, side, index).map((pair) => ({ ...pair, head })))
    .sort((one, another) => another.value - one.value).slice(0, TIPPED)
  const name = ({ head, at }) => (threads.length > 1 && head !== "mean" ? `${head + 1}: ${numbers[other][at]}` : numbers[other][at])
  return [
    [words[side === "queries" ? "hover.query" : "hover.key"], numbers[side][index]],
    ...best.map((pair) => [name(pair), pair.value.toFixed(4)]),
  ]
}

function strandsOfToken({ cells, queries, keys }, side, index) {
  const found = side === "queries"
    ? Array.from(keys, (_, at) => ({ at, value: cells[index * keys.length + at] }))
    : Array.from(queries, (_, at) => ({ at, value: cells[at * keys.length + index] }))
  return found.filter(({ value }) => value === value)
}

// Two decimals; of a small number its first digit.
export function brief(value) {
  const size = Math.abs(value)
  if (size === 0 || size >= 0.0095) return value.toFixed(2)
  return size >= 0.00095 ? value.toPrecision(1) : value.toExponential(0)
}
