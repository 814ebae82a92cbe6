// Masks by name, with their numbers as sliders; several are combined.

import { button, choice, element, slider } from "../controls.js"

const TENTHS = ["scale", "strength"]  // need not be whole

export class Presets {
  // edit: (changes, gesture) of the edit of the chosen scope; the changes of one slider are one gesture.
  constructor(run, words, edit) {
    Object.assign(this, { run, words, edit })
    this.list = element("div", { className: "presets" })
    this.combined = choice(words["masks.combined"], ["all", "any"].map((value) => [value, words[`masks.combined.${value}`]]), (combined) => edit({ combined }))
    this.add = run.presets.map(({ name, numbers }) => button(words[`masks.preset.${name}`], () => this.change([...this.chosen, [name, ...numbers.map(({ begin }) => begin)]])))
    this.adding = element("div", { className: "control" }, element("span", { className: "caption", text: words["masks.presets"] }), element("div", { className: "adding" }, ...this.add))
    this.element = element("div", { className: "row" }, this.list, this.combined.element)
    this.chosen = []
  }

  change(presets, gesture) {
    this.edit({ presets }, gesture)
  }

  // longest: of the texts; a mask need not reach farther.
  show({ presets, combined }, longest) {
    const names = presets.map(([name]) => name).join()
    this.chosen = presets
    if (names !== this.names) this.make(presets)
    this.names = names
    presets.forEach(([, ...numbers], i) => numbers.forEach((number, n) => this.sliders[i][n](number, longest)))
    for (const one of this.add) one.disabled = presets.length >= this.run.limits.presets
    this.element.hidden = !presets.length
    this.combined.element.hidden = presets.filter(([name]) => !this.known(name).adds).length < 2
    this.combined.show(combined)
  }

  known(name) {
    return this.run.presets.find((one) => one.name === name)
  }

  make(presets) {
    const made = presets.map(([name], i) => this.known(name).numbers.map((number, n) => this.slide(number, `${name} ${i} ${n}`,
      (value) => this.chosen.map((one, place) => (place === i ? one.with(n + 1, value) : one)))))
    this.sliders = made.map((several) => several.map(({ show }) => show))
    this.list.replaceChildren(...presets.map(([name], i) => element("div", { className: "preset" },
      element("b", { text: this.words[`masks.preset.${name}`], title: this.known(name).source }), ...made[i].map((one) => one.element),
      button(this.words["masks.preset.away"], () => this.change(this.chosen.filter((_, place) => place !== i)), { sign: "✕" }))))
  }

  // One number's slider, as far as the text goes, or as the number itself.
  slide({ name, least, most }, gesture, changed) {
    const scale = TENTHS.includes(name) ? 10 : 1, says = (at) => (at / scale).toFixed(scale === 1 ? 0 : 1)
    const made = slider(this.words[`masks.number.${name}`], most * scale, (at) => this.change(changed(at / scale), gesture), { least: least * scale, says })
    const show = (number, longest) => {
      const far = scale === 1 ? Math.max(Math.abs(number), Math.min(most, longest)) : most
      made.reach(Math.max(least, -far) * scale, far * scale)
      made.show(Math.round(number * scale))
    }
    return { element: made.element, show }
  }
}
