// How the tokens of a text stand together: where there is a space, where a line may end, and which way they run.

import { shown } from "../../words.js"

const UNSPACED = /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef\u{20000}-\u{3ffff}]/u
const CLOSING = /^[\p{Pe}\p{Pf}.,;:!?%…،؛؟。，、！？：；％]/u
const OPENING = /[\p{Ps}\p{Pi}]$/u
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/
const LEFT_TO_RIGHT = /[\p{L}\p{N}]/u
const ARABIC = /[\u0620-\u064a\u066e-\u06d3\u0750-\u077f]/
const UNJOINED_AFTER = /[\u0621-\u0625\u0627\u0629\u062f-\u0632\u0648\u0649\u0671-\u0673\u0675-\u0677\u0688-\u0699\u06c0-\u06cb\u06cd\u06d2\u06d3]$/
const JOINER = "\u200d"
const LINE_BREAK = "⏎"

const first = (text) => [...text][0] ?? "", last = (text) => [...text].at(-1) ?? ""

// spaces: which tokens have a space before them; special ones stand apart in any case.
// Returns [{ text: as it is drawn, space: whether one stands before it, breakable: whether a line may begin with it, ends:
// whether the line ends after it, direction: ltr, rtl or neutral }].
export function spaced(labels, special, spaces, state) {
  const space = labels.map((_, index) => index > 0 && (spaces[index] || special[index] || special[index - 1]))
  return labels.map((label, index) => {
    const before = labels[index - 1] ?? "", after = labels[index + 1] ?? ""
    const within = UNSPACED.test(first(label)) || UNSPACED.test(last(before))
    return {
      text: shaped(label, space[index] || special[index - 1] ? "" : before, space[index + 1] || special[index + 1] ? "" : after, state),
      space: space[index],
      breakable: index === 0 || space[index] || (within && !CLOSING.test(label) && !OPENING.test(before)),
      ends: label.endsWith(LINE_BREAK),
      direction: RIGHT_TO_LEFT.test(label) ? "rtl" : LEFT_TO_RIGHT.test(label) && !special[index] ? "ltr" : "neutral",
    }
  })
}

// Arabic letters keep the forms they have in their word where it is cut into tokens.
function shaped(label, before, after, state) {
  const text = shown(label, state)
  const from = ARABIC.test(first(text)) && ARABIC.test(last(before)) && !UNJOINED_AFTER.test(before)
  const on = ARABIC.test(last(text)) && ARABIC.test(first(after)) && first(after) !== "ء"
  return (from ? JOINER : "") + text + (on ? JOINER : "")
}

// Which way the whole runs: as most of its words do.
export function runsFrom(tokens) {
  const count = (way) => tokens.filter((token) => token.direction === way).length
  return count("rtl") > count("ltr") ? "rtl" : "ltr"
}

// The tokens of one line from left to right, given in the order in which they are read. What has no direction of its
// own takes that of its neighbours where they agree, else the text's. (The main case of Unicode's annex 9.)
export function inOrder(line, tokens, base) {
  const ways = line.map((index) => tokens[index].direction)
  const strong = (from, by) => {
    let at = from
    while (ways[at] === "neutral") at += by
    return ways[at] ?? base
  }
  const resolved = ways.map((way, at) => (way !== "neutral" ? way : strong(at, -1) === strong(at, 1) ? strong(at, 1) : base))
  const runs = []
  line.forEach((index, at) => {
    if (resolved[at] !== resolved[at - 1]) runs.push({ way: resolved[at], places: [] })
    runs.at(-1).places.push(index)
  })
  if (base === "rtl") runs.reverse()
  return runs.flatMap(({ way, places }) => (way === "rtl" ? places.reverse() : places))
}
