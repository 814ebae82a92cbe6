// What ran, and what its parts are called.

import { filled } from "../words.js"

export class Run {
  // given: { key, address, language, texts, continues, kinds: [{ kind, heads: [of each layer], queries, keys, size }],
  // presets, limits }
  constructor(given) {
    Object.assign(this, given)
  }

  // A state within what this run has; the mean of the heads has no mask of its own.
  fitted(state) {
    const { kind, heads, size } = this.of(state.kind) ?? this.kinds.at(-1)
    const layer = Math.min(state.layer, heads.length - 1)
    const head = state.head === "mean" ? 0 : Math.min(state.head, heads[layer] - 1)
    const pair = state.pair?.every((place, side) => place < size[side]) ? state.pair : null
    return { ...state, kind, layer, head, pair, text: Math.min(state.text, this.texts - 1), edits: state.edits.filter((edit) => this.has(edit)) }
  }

  // Whether the model has what an edit is about.
  has({ kind, layer, head }) {
    const heads = this.of(kind)?.heads ?? [], concerned = layer === null ? heads : heads.slice(layer, layer + 1)
    return concerned.length > 0 && concerned.every((many) => head === null || head < many)
  }

  of(kind) {
    return this.kinds.find((one) => one.kind === kind)
  }

  axes(kind, words) {
    const { queries, keys } = this.of(kind)
    return { queries: words[`axis.queries.${queries}.${kind === "cross" ? "predicted" : "read"}`], keys: words[`axis.keys.${keys}`] }
  }

  nameOf({ kind, layer, head }, words) {
    return filled(words["title"], { kind: words[`kind.${kind}`], layer: layer + 1, head: head + 1 })
  }
}
