// What ran, and what its parts are called.

import { filled } from "../words.js"

export class Run {
  // given: { key, address, language, kinds: [{ kind, heads: [of each layer], queries, keys, long }] }, from Python.
  constructor(given, words) {
    Object.assign(this, given)
    this.words = words
  }

  kind(name) {
    return this.kinds.find((one) => one.kind === name)
  }

  // How decoder rows are named: by the token read or by the one predicted.
  naming(kind, state) {
    return kind === "encoder" ? "read" : state[`${kind}_rows`]
  }

  axes(kind, state) {
    const { queries, keys } = this.kind(kind)
    return {
      queries: this.words[`axis.queries.${queries}.${this.naming(kind, state)}`],
      keys: this.words[`axis.keys.${keys}`],
    }
  }

  title(kind) {
    return this.words[`kind.${kind}`]
  }

  name({ kind, layer, head }) {
    const gaps = { kind: this.title(kind), layer: layer + 1, head: head + 1 }
    return filled(this.words[head === "mean" ? "title.mean" : "title"], gaps)
  }

  // What to ask the server for a head's numbers.
  asked({ kind, layer, head }, state) {
    const quantity = state.scale === "score" ? "score" : state.measure
    return {
      kind, layer, head, quantity, rows: this.naming(kind, state),
      unit: state.unit, over: state.over, hidden: state.special === "hidden", language: this.language,
    }
  }

  // A state within what this run has.
  fitted(state) {
    const kind = this.kind(state.kind) ? state.kind : this.kinds.at(-1).kind
    const { heads } = this.kind(kind)
    const layer = Math.min(state.layer, heads.length - 1)
    const head = state.head === "mean" ? "mean" : Math.min(state.head, heads[layer] - 1)
    return { ...state, kind, layer, head, heads: state.heads.filter((one) => one < heads[layer]) }
  }
}
