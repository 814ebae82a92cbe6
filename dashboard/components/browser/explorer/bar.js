// The controls above the picture: what is looked at, and how.

import { button, choice, element, panel, slider, toggle } from "../controls.js"
import { filled } from "../words.js"
import { VIEWS } from "./views/index.js"

const FAR = ["heat", "heads"]  // the views of a long text
const NEAR = Object.keys(VIEWS)

export class Bar {
  // change: called with what a viewer changed. actions: save(), zoom(by; nothing for all).
  constructor(run, words, change, actions) {
    this.run = run
    const named = (name, values) => values.map((value) => [value, words[`${name}.${value}`]])
    this.shown = {
      view: choice(words["view"], named("view", NEAR), (view) => change({ view })),
      kind: choice(words["kind"], named("kind", run.kinds.map((one) => one.kind)), (kind) => change({ kind })),
      mean: toggle(words["mean"], (on) => change({ head: on ? "mean" : this.lastHead ?? 0 })),
      scale: choice(words["scale"], named("scale", ["linear", "log", "score"]), (scale) => change({ scale })),
      measure: choice(words["measure"], named("measure", ["weight", "norm"]), (measure) => change({ measure })),
      unit: choice(words["unit"], named("unit", ["piece", "word", "character"]), (unit) => change({ unit })),
      over: choice(words["over"], named("over", ["mean", "first", "last"]), (over) => change({ over })),
      special: choice(words["special"], named("special", ["shown", "dimmed", "hidden"]), (special) => change({ special })),
      spaces: toggle(words["spaces"], (spaces) => change({ spaces })),
    }
    this.rows = Object.fromEntries(["decoder", "cross"].map((kind) => [
      kind, choice(words["rows"], named("rows", ["read", "predicted"]), (rows) => change({ [`${kind}_rows`]: rows })),
    ]))
    this.sliders = element("div", { className: "sliders" })
    // A slider of another length only where that is needed: one that is replaced while it is dragged lets go.
    this.lengthen = (name, most) => {
      if (this[name]?.most === most) return
      const made = slider(filled(words[name], { most }), most, (at) => change({ [name]: at - 1 }))
      if (this[name]) this[name].element.replaceWith(made.element)
      else this.sliders.append(made.element)
      this[name] = { ...made, most }
    }
    const { view, kind, mean, scale, measure, unit, over, special, spaces } = this.shown
    this.pool = choice(words["pool"], named("pool", ["max", "mean"]), (pool) => change({ pool }))
    this.own = element("div", { className: "own" })  // controls of the view itself
    this.extras = Object.fromEntries(Object.entries(VIEWS).map(([name, one]) => [name, one.controls?.(run, words, change) ?? []]))
    const more = panel(words["display"], measure.element, scale.element, unit.element, over.element, special.element, spaces.element)
    this.zoom = element("div", { className: "control buttons" },
      button(words["picture.closer"], () => actions.zoom(1 / 1.5), { sign: "+" }),
      button(words["picture.farther"], () => actions.zoom(1.5), { sign: "−" }),
      button(words["picture.reset"], () => actions.zoom(null), { sign: "⤢" }))
    this.save = element("div", { className: "control buttons" }, button(words["picture.save"], actions.save, { sign: "⤓" }))
    this.elements = [
      element("div", { className: "row" }, view.element, this.own, element("div", { className: "end" }, more, this.zoom, this.save)),
      element("div", { className: "row" }, kind.element, this.sliders, mean.element, this.rows.decoder.element, this.rows.cross.element, this.pool.element),
    ]
  }

  show(state) {
    const { heads: counts, long, paths } = this.run.kind(state.kind)
    this.lengthen("layer", counts.length)
    this.lengthen("head", counts[state.layer])
    if (state.head !== "mean") this.lastHead = state.head
    for (const name of ["view", "kind", "scale", "measure", "unit", "over", "special", "spaces"]) this.shown[name].show(state[name])
    this.shown.mean.show(state.head === "mean")
    this.layer.show(state.layer + 1)
    this.layer.element.title = paths[state.layer]
    this.head.show((state.head === "mean" ? this.lastHead ?? 0 : state.head) + 1, state.head === "mean")
    for (const [kind, control] of Object.entries(this.rows)) {
      control.element.hidden = kind !== state.kind || !this.run.predicts
      control.show(state[`${kind}_rows`])
    }
    this.shown.over.element.hidden = long || state.unit === "piece"
    this.shown.view.only(long ? FAR : this.run.predicts ? NEAR : NEAR.filter((view) => view !== "steps"))
    this.shown.measure.element.hidden = !this.run.norms
    if (long && !FAR.includes(state.view)) this.shown.view.show("heat")
    const view = VIEWS[state.view], far = long && state.view !== "heads"
    this.zoom.hidden = !(far || view.zooms)
    this.save.hidden = Boolean(view.server) && !long
    this.pool.element.hidden = !far
    this.pool.show(state.pool)
    for (const name of ["unit", "special"]) this.shown[name].element.hidden = long  // tokens as they ran
    const own = (long ? null : this.extras[state.view]) ?? []
    if (this.own.children.length !== own.length || own.some((one, i) => one.element !== this.own.children[i])) {
      this.own.replaceChildren(...own.map((one) => one.element))
    }
    for (const control of own) control.update(state)
  }
}
