// The controls above the picture: which attention is walked through, how far, and which axis comes first.

import { button, choice, element, slider, toggle } from "../controls.js"
import { filled } from "../words.js"

export class Bar {
  // run: { kinds: [{ kind, heads: [of each layer] }] }. actions: save(), step(by).
  constructor(run, words, change, actions) {
    Object.assign(this, { run, words, change })
    this.kind = choice(words["kind"], run.kinds.map(({ kind }) => [kind, words[`kind.${kind}`]]), (kind) => change({ kind }))
    this.sliders = element("div", { className: "sliders" })
    this.first = toggle(words["inside.batch_first"], (on) => change({ batch_first: on }))
    this.back = button(words["inside.back"], () => actions.step(-1), { sign: "←" })
    this.on = button(words["inside.on"], () => actions.step(1), { sign: "→" })
    this.counted = element("span", { className: "counted" })
    const steps = element("div", { className: "control buttons" }, this.back, this.counted, this.on)
    const save = element("div", { className: "control buttons" }, button(words["picture.save"], actions.save, { sign: "⤓" }))
    this.element = element("div", { className: "row" }, this.kind.element, this.sliders, this.first.element, element("div", { className: "end" }, steps, save))
  }

  show({ kind, layer, head, batch_first }) {
    const { heads } = this.run.kinds.find((one) => one.kind === kind)
    if (this.sized !== `${kind} ${heads[layer]}`) {
      this.layer = slider(filled(this.words["layer"], { most: heads.length }), heads.length, (at) => this.change({ layer: at - 1 }))
      this.head = slider(filled(this.words["head"], { most: heads[layer] }), heads[layer], (at) => this.change({ head: at - 1 }))
      this.sliders.replaceChildren(this.layer.element, this.head.element)
    }
    this.sized = `${kind} ${heads[layer]}`
    this.kind.show(kind)
    this.layer.show(layer + 1)
    this.head.show(head + 1)
    this.first.show(batch_first)
  }

  // Where the walk stands.
  count(place, all) {
    this.counted.textContent = filled(this.words["inside.counted"], { place: place + 1, all })
    this.back.disabled = place === 0
    this.on.disabled = place === all - 1
  }
}
