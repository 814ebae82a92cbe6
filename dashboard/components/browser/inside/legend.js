// Under the picture: one sentence that says what is to be seen, and what the colours mean.

import { element } from "../controls.js"
import { filled } from "../words.js"
import { digits } from "./reckoning.js"

export class Legend {
  constructor() {
    this.says = element("p", { className: "sentence" })
    this.means = element("p", { className: "legend" })
    this.element = element("div", {}, this.says, this.means)
  }

  show({ way, step, values, state, words, palette }) {
    this.say(filled(words[this.sentence(step, values, way)], {
      ...way.sizes, head: state.head + 1, before: state.layer, from: state.head * way.sizes.D + 1, to: (state.head + 1) * way.sizes.D,
    }))
    this.means.replaceChildren(...(step.name === "ids" ? [] : this.colours(values, words, palette)))
  }

  sentence(step, values, way) {
    if (step.name === "mask") return `inside.say.mask.${values.blocked ? "some" : "none"}`
    if (step.name === "activation") return `inside.say.activation.${way.activation}`
    return `inside.say.${step.name}`
  }

  colours({ most, high, blocked }, words, palette) {
    const swatch = (colour) => {
      const made = element("i", { className: "swatch" })
      made.style.background = colour
      return made
    }
    const of = (colour, text) => element("span", {}, swatch(colour), element("span", { text }))
    const shown = most === undefined
      ? [of(palette.strong, filled(words["legend.weight"], { high: digits(high) }))]
      : [of(palette.strong, filled(words["inside.legend.above"], { most: digits(most) })), of(palette.negative, filled(words["inside.legend.below"], { most: digits(-most) }))]
    return blocked ? [...shown, of(palette.blocked, words["hover.blocked"])] : shown
  }

  say(text) {
    this.says.textContent = text
    this.means.replaceChildren()
  }
}
