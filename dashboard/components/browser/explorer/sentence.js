// Under the picture: one sentence that says what is to be seen, and what the colours mean.

import { element } from "../controls.js"
import { filled } from "../words.js"

export class Sentence {
  constructor() {
    this.says = element("p", { className: "sentence" })
    this.legend = element("p", { className: "legend" })
    this.element = element("div", {}, this.says, this.legend)
  }

  // coloured: whether there is a picture, whose colours mean something.
  show(numbers, state, run, words, palette, coloured) {
    this.says.replaceChildren(...numbers.caption.map(([text, strong]) => element(strong ? "b" : "span", { text })))
    this.element.style.setProperty("--strong", palette.strong)
    const legend = coloured ? this.colours(numbers, state, words) : []
    if (state.spaces && [numbers.queries, numbers.keys].some((labels) => labels?.some((label) => label.includes("▁")))) legend.push(words["legend.space"])
    const path = run.kind(state.kind).paths[state.layer]
    if (run.opened && path) legend.push(filled(words["legend.module"], { path }))
    this.legend.replaceChildren(element("span", { text: legend.join(" · ") }), ...this.badges(numbers, state, run, words))
  }

  colours(numbers, state, words) {
    const said = [filled(words[`legend.${numbers.quantity}`], { low: digits(numbers.low), high: digits(numbers.high) })]
    if (numbers.pool) said.push(words[`legend.pool.${numbers.pool}`])
    if (state.scale === "log") said.push(words["legend.log"])
    if (numbers.cells.some(Number.isNaN)) said.push(words["legend.blocked"])
    return said
  }

  // What is no longer what the model computed, in so many words.
  badges(numbers, state, run, words) {
    const said = []
    if (state.head === "mean") said.push(filled(words["mean.badge"], { heads: run.kind(state.kind).heads[state.layer] }))
    if (numbers.merged) said.push(words[`badge.${state.unit}.${state.over}`])
    if (numbers.removed) {
      const most = Math.max(...numbers.removed), faded = numbers.removed.filter((share) => share > 0.8).length
      said.push(filled(words[numbers.quantity === "weight" ? "badge.renormalised" : "badge.hidden"], { most: `${Math.round(100 * most)} %` }))
      if (faded) said.push(filled(words["badge.faded"], { rows: faded }))
    }
    return said.map((text) => element("span", { className: "badge", text }))
  }

  fail(text) {
    this.says.replaceChildren(element("span", { className: "failed", text }))
  }
}

function digits(number) {
  return Number(number.toPrecision(2)).toString()
}
