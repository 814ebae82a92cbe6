// What ran, and what its parts are called.

import { filled } from "../words.js"

export class Run {
  // given, from Python: { key, address, language, steps, norms: whether ‖value‖ is known, opened: whether it is a
  // recording from a file, kinds: [{ kind, queries, keys, long, and of each layer: heads, sizes, paths }] }.
  constructor(given, words) {
    Object.assign(this, given)
    this.words = words
  }

  kind(name) {
    return this.kinds.find((one) => one.kind === name)
  }

  // Whether it is known what each row is to predict.
  get predicts() {
    return this.steps > 0
  }

  // How rows are named: a decoder's by the token read or by the one predicted.
  naming(kind, state) {
    return state[`${kind}_rows`] ?? "read"
  }

  // Whether queries and keys are the same tokens under the same names.
  isOneText({ kind, layer, ...state }) {
    const [queries, keys] = this.kind(kind).sizes[layer]
    return kind !== "cross" && queries === keys && this.naming(kind, state) === "read"
  }

  // Where a head stands among all of its kind.
  place(kind, layer, head) {
    return this.kind(kind).heads.slice(0, layer).reduce((sum, count) => sum + count, head)
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
    const fitted = { ...state, kind, layer, head, heads: state.heads.filter((one) => one < heads[layer]) }
    if (!this.norms) fitted.measure = "weight"
    if (!this.predicts) Object.assign(fitted, { decoder_rows: "read", cross_rows: "read", view: state.view === "steps" ? "heat" : state.view })
    return fitted
  }
}
