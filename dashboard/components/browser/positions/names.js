// What positions, dimensions and offsets are called beside the pointer and along axes.

import { textWidth } from "../draw.js"
import { written } from "../axes.js"
import { filled, fitted, shown } from "../words.js"

export const DIGITS = 4
const TICK = { size: 12, mono: true }
const NARROWEST = 26  // pixels for a token

// A position, with the token that stands there.
export function positionName(position, { tokens }) {
  const token = tokens[position]
  return token === undefined ? written(position) : `${written(position)} ${shown(token, { spaces: true })}`
}

// A number in a sentence: two decimals, or four where two would say nothing.
export function rounded(value) {
  return written(value, Math.abs(value) < 0.1 ? DIGITS : 2)
}

export function dimensionName(dimension, words) {
  return filled(words["positions.dimension.name"], { dimension: written(dimension) })
}

export function offsetName(offset) {
  return offset > 0 ? `+${written(offset)}` : written(offset)
}

// What the rows or columns of a picture are called: with their tokens, where every one has one.
export function rowNames({ length, tokens }) {
  const known = tokens.length >= length ? tokens : []
  return Array.from({ length }, (_, at) => positionName(at, { tokens: known }))
}

// The axis of positions; where there is room, under each the token that stands there.
export function positionAxis({ length, tokens }, words, width) {
  const axis = { from: 0, to: Math.max(1, length - 1), label: words["positions.axis.position"], whole: true }
  const pitch = width / Math.max(1, length - 1) - 6
  if (!tokens.length || pitch < NARROWEST) return axis
  const cut = (token) => fitted(shown(token, { spaces: true }), pitch, (text) => textWidth(text, TICK))
  return { ...axis, ticks: Array.from({ length }, (_, at) => [at, written(at)]), names: tokens.map((token, at) => [at, cut(token)]) }
}

export function offsetAxis({ length }, words) {
  return { from: 1 - length, to: Math.max(1, length - 1), label: words["positions.axis.offset"], whole: true }
}
