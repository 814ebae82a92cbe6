// The code that does a step, ours beside that of torch.nn, with the very lines lit.

import { element, toggle } from "../controls.js"

const AROUND = 1  // lines above and below

export class Code {
  constructor() {
    this.whole = false
    this.sides = { ours: element("div", { className: "side-of-code" }), torch: element("div", { className: "side-of-code" }) }
    this.element = element("div", { className: "code" }, this.sides.ours, this.sides.torch)
  }

  show(numbers, step, batchFirst, words) {
    const shown = [numbers, batchFirst, words, this.whole]
    if (this.shown?.every((one, at) => one === shown[at])) return
    this.shown = shown
    for (const [side, where] of Object.entries(this.sides)) {
      const passages = numbers[side].filter(({ role }) => role !== "swap" || batchFirst)
      const switched = side === "torch" ? [this.switch(numbers, step, batchFirst, words)] : []
      const title = element("div", { className: "code-title" }, element("b", { text: words[`inside.code.${side}`] }), ...switched)
      const nothing = passages.length ? [] : [element("p", { text: words[`inside.torch.${step}`] })]
      where.replaceChildren(title, ...nothing, ...passages.flatMap((one) => this.passage(one, words)))
      where.scrollTop = 0
      if (this.whole) where.querySelector(".lit")?.scrollIntoView({ block: "center" })
    }
  }

  switch(numbers, step, batchFirst, words) {
    const made = toggle(words["inside.code.whole"], (on) => {
      this.whole = on
      this.show(numbers, step, batchFirst, words)
    })
    made.show(this.whole)
    return made.element
  }

  passage({ title, role, first, lines, lit, body }, words) {
    const said = role === "plain" ? [] : [element("p", { text: words[`inside.code.${role}`] })]
    if (!lit.length) said.push(element("p", { text: words["inside.code.other"] }))
    const shown = [...lines.keys()].filter((at) => this.whole || (at >= body && lit.some((one) => Math.abs(one - at) <= AROUND)))
    const text = element("pre", {}, ...shown.flatMap((at, place) => {
      const gap = place && shown[place - 1] !== at - 1 ? [element("span", { className: "gap", text: "⋯" })] : []
      const line = element("span", { className: lit.includes(at) ? "lit" : "", text: lines[at] || " " })
      line.style.setProperty("--deep", `${lines[at].search(/\S|$/) + 4}ch`)  // what is wrapped goes on farther in
      return [...gap, line]
    }))
    const from = lit.length ? first + lit[0] : first
    return [...said, element("div", { className: "caption", text: `${title} · ${from}` }), text]
  }
}
