// What ran, and what its parts are called.

import { filled } from "../words.js"

export class Run {
  // given: { key, address, language, kinds: [{ kind, heads: [of each layer], queries }], bugs: [{ name, impossible }], seeds }
  constructor(given) {
    Object.assign(this, given)
  }

  // A state within what this run has, and a mistake that its model can have.
  fitted(state) {
    const { kind, heads } = this.kinds.find((one) => one.kind === state.kind) ?? this.kinds.at(-1)
    const layer = Math.min(state.layer, heads.length - 1)
    const head = state.head === "mean" ? 0 : Math.min(state.head, heads[layer] - 1)
    const possible = this.bugs.filter(({ impossible }) => !impossible)
    const bug = possible.some(({ name }) => name === state.bug) ? state.bug : possible[0].name
    return { ...state, kind, layer, head, bug }
  }

  // What the rows of a kind are.
  rows(kind, words) {
    const { queries } = this.kinds.find((one) => one.kind === kind)
    return words[`axis.queries.${queries}.${kind === "cross" ? "predicted" : "read"}`]
  }

  nameOf({ kind, layer, head }, words) {
    return filled(words["title"], { kind: words[`kind.${kind}`], layer: layer + 1, head: head + 1 })
  }
}
