// What is to be seen, in one sentence.

import { filled } from "../words.js"
import { NOISE } from "./grids.js"

export function sentence(shown) {
  const { state, words, run } = shown, said = SAYS[state.show]?.(shown) ?? ofPattern(shown)
  const long = new URLSearchParams({ edits: JSON.stringify(state.edits) }).toString().length > run.limits.address
  return long && state.edits.length ? `${said} ${words["masks.say.long"]}` : said
}

// Of the views that say something of their own; nothing where there is nothing to say without an edit.
const SAYS = {
  words: ({ state, words, chances, written }) => {
    if (!state.edits.length) return null
    const changes = chances.after.map((after, i) => Math.abs(after - chances.before[i])), most = changes.indexOf(Math.max(...changes))
    const other = written && written.before.text !== written.after.text
    const way = !written ? "waiting" : other ? "other" : changes[most] < 0.01 ? "nothing" : "same"
    return filled(words[`masks.say.words.${way}`], { token: chances.tokens[most], before: chances.before[most].toFixed(2), after: chances.after[most].toFixed(2) })
  },
  layers: ({ state, words, layers }) =>
    state.edits.length ? filled(words["masks.say.layers"], { most: short(Math.max(...layers.streams.map(({ distance }) => Math.max(...distance)))) }) : null,
  masks: ({ words, name }) => filled(words["masks.say.masks"], { name }),
  leaks: ({ words, leaks: { future } }) =>
    future > NOISE ? filled(words["masks.say.leaks"], { most: short(future) }) : filled(words["masks.say.no_leaks"], { most: String(NOISE) }),
  padding: ({ words, padding: { most } }) =>
    most > NOISE ? filled(words["masks.say.moves"], { most: short(most) }) : filled(words["masks.say.no_moves"], { most: String(NOISE) }),
  check: ({ words }) => words["masks.say.check"],
}

function ofPattern({ state, words, numbers }) {
  if (!state.edits.length) return words["masks.say.begin"]
  if (numbers.empty.length) return filled(words["masks.say.empty"], { count: numbers.empty.length })
  return words[numbers.taken.some(Boolean) ? "masks.say.zeroed" : "masks.say.renormalised"]
}

function short(number) {
  return String(Number(number.toPrecision(2)))
}
