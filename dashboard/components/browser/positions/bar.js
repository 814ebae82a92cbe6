// The controls above the picture: the view, whose values, how large a table, and what the view itself offers.

import { button, choice, element, stops } from "../controls.js"
import { written } from "../axes.js"
import { VIEWS } from "./views/index.js"

const SIZES = {
  width: [2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024],
  length: [2, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024],
  base: [2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000],
}

export class Bar {
  // change: called with what a viewer changed. actions: save(), zoom(by; nothing for all).
  constructor(lab, words, change, actions) {
    this.lab = lab
    const named = (name, values) => values.map((value) => [value, words[`${name}.${value}`]])
    const values = lab.values.map((value) => [value, words[`positions.values.${lab.alone && value === "source" ? "text" : value}`]])
    this.view = choice(words["view"], named("positions.view", Object.keys(VIEWS)), (view) => change({ view }))
    this.values = choice(words["positions.values"], values, (one) => change({ values: one }))
    this.sizes = Object.fromEntries(Object.entries(SIZES).map(([name, numbers]) => [
      name, stops(words[`positions.${name}`], numbers, (to) => change({ [name]: to }), { says: (number) => written(number) }),
    ]))
    this.layout = choice(words["positions.layout"], named("positions.layout", ["interleaved", "halves"]), (layout) => change({ layout }))
    this.own = element("div", { className: "own" })
    this.extras = Object.fromEntries(Object.entries(VIEWS).map(([name, view]) => [name, view.controls?.(words, change) ?? []]))
    this.zoom = element("div", { className: "control buttons" },
      button(words["picture.closer"], () => actions.zoom(1 / 1.5), { sign: "+" }),
      button(words["picture.farther"], () => actions.zoom(1.5), { sign: "−" }),
      button(words["picture.reset"], () => actions.zoom(null), { sign: "⤢" }))
    const save = element("div", { className: "control buttons" }, button(words["picture.save"], actions.save, { sign: "⤓" }))
    const { width, length, base } = this.sizes
    this.elements = [
      element("div", { className: "row" }, this.view.element, element("div", { className: "end" }, this.zoom, save)),
      element("div", { className: "row" }, this.values.element, width.element, length.element, base.element, this.layout.element),
      element("div", { className: "row" }, this.own),
    ]
  }

  // table: null where the model adds no positions. able: whether the view can show it.
  show(state, table, able) {
    const free = state.values === "free"
    this.view.show(state.view)
    this.values.show(state.values)
    for (const [name, size] of Object.entries(this.sizes)) {
      size.element.hidden = !table?.[name]
      if (table?.[name]) size.show(table[name], !free)
    }
    this.layout.element.hidden = !table?.layout
    this.layout.only(free ? ["interleaved", "halves"] : [table?.layout])
    this.layout.show(table?.layout)
    this.zoom.hidden = !(able && VIEWS[state.view].zooms)
    const own = able ? this.extras[state.view] : []
    this.own.parentElement.hidden = !own.length
    if (this.own.children.length !== own.length || own.some((one, i) => one.element !== this.own.children[i])) {
      this.own.replaceChildren(...own.map((one) => one.element))
    }
    for (const control of own) control.update(state, table, this.lab)
  }
}
