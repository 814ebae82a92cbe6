// The controls of the mask lab: which attention, what an edit is about, what it does, and what stands beside the mask.

import { button, choice, element, panel, slider, toggle } from "../controls.js"
import { filled } from "../words.js"
import { current } from "./edits.js"
import { Presets } from "./presets.js"

const SHOWN = ["effect", "words", "layers", "masks", "leaks", "padding", "check"]

export class Bar {
  // change: a change of the state. edit: a change of the edit of the chosen scope. actions: undo, redo, reset, cut, save.
  constructor(run, words, change, edit, actions, files) {
    Object.assign(this, { run, words, change })
    const named = (name, values) => values.map((value) => [value, words[`masks.${name}.${value}`]])
    this.kind = choice(words["kind"], run.kinds.map(({ kind }) => [kind, words[`kind.${kind}`]]), (kind) => change({ kind, pair: null }))
    this.sliders = element("div", { className: "sliders" })
    this.text = slider(filled(words["masks.text"], { most: run.texts }), run.texts, (at) => change({ text: at - 1, pair: null }))
    this.scope = choice(words["masks.scope"], named("scope", ["head", "layer", "all"]), (scope) => change({ scope }))
    this.brush = choice(words["masks.brush"], named("brush", ["block", "number"]), (brush) => change({ brush }))
    this.amount = slider(words["masks.amount"], 100, (at) => change({ amount: at / 10 }), { least: -100, says: (at) => (at / 10).toFixed(1) })
    this.own = toggle(words["masks.own"], (own) => edit({ own }))
    this.sharing = toggle(words["masks.renormalise"], (renormalise) => edit({ renormalise }))
    this.presets = new Presets(run, words, edit)
    this.undo = button(words["masks.undo"], actions.undo, { sign: "↶" })
    this.redo = button(words["masks.redo"], actions.redo, { sign: "↷" })
    this.reset = button(words["masks.reset"], actions.reset, { sign: "⟲" })
    const doing = element("div", { className: "control buttons" }, this.undo, this.redo, this.reset)
    this.show_ = choice(words["masks.show"], named("show", SHOWN), (show) => change({ show }), { hideLabel: true })
    this.compared = choice(words["masks.compared"], named("compared", ["before", "after", "difference"]), (compared) => change({ compared }), { hideLabel: true })
    this.cuts = ["head", "all"].map((scope) => button(words[`masks.cut.${scope}`], () => actions.cut(scope)))
    const cut = element("div", { className: "control buttons cut" }, element("span", { className: "caption", text: words["masks.cut"] }), ...this.cuts)
    const save = button(words["picture.save"], actions.save, { sign: "⤓" })
    const rule = panel(words["masks.rule"], this.own.element, this.sharing.element, this.presets.adding)
    this.elements = [
      element("div", { className: "row" }, this.kind.element, this.sliders, this.text.element, this.amount.element),
      element("div", { className: "row" }, this.scope.element, this.brush.element, element("div", { className: "control buttons" }, rule, files), doing),
      this.presets.element,
    ]
    this.beside = [
      element("div", { className: "row shows" }, this.show_.element, element("div", { className: "end" }, save)),
      element("div", { className: "row" }, this.compared.element, cut),
    ]
  }

  show(state, history) {
    const { heads, size } = this.run.of(state.kind)
    if (this.sized !== `${state.kind} ${heads[state.layer]}`) {
      this.layer = slider(filled(this.words["layer"], { most: heads.length }), heads.length, (at) => this.change({ layer: at - 1 }))
      this.head = slider(filled(this.words["head"], { most: heads[state.layer] }), heads[state.layer], (at) => this.change({ head: at - 1 }))
      this.sliders.replaceChildren(this.layer.element, this.head.element)
    }
    this.sized = `${state.kind} ${heads[state.layer]}`
    const edit = current(state)
    this.layer.show(state.layer + 1)
    this.head.show(state.head + 1)
    this.text.show(state.text + 1)
    this.amount.show(Math.round(state.amount * 10))
    this.amount.element.hidden = state.brush !== "number"
    for (const name of ["kind", "scope", "brush", "compared"]) this[name].show(state[name])
    this.show_.show(state.show)
    this.own.show(edit.own)
    this.sharing.show(edit.renormalise)
    this.presets.show(edit, Math.max(...size))
    this.undo.disabled = !history.past.length
    this.redo.disabled = !history.future.length
    this.reset.disabled = !state.edits.length
    this.beside[1].hidden = state.show !== "effect"
    for (const cut of this.cuts) cut.disabled = !state.pair
  }
}
