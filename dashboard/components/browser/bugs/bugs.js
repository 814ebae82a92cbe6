// The theatre of bugs: a classic mistake on trained weights, right beside broken, with its code and how one would notice.

import { button, choice, element, slider } from "../controls.js"
import { numbersOf } from "../numbers.js"
import { Page } from "../page.js"
import { Stage } from "../stage.js"
import { twoSides } from "../two_sides.js"
import { filled } from "../words.js"
import { Run } from "./run.js"
import { says, slip } from "./says.js"

export class BugTheatre extends Page {
  constructor(host) {
    super(host)
    this.stage = new Stage(() => {}, () => this.draw())
    this.controls = element("div", { className: "controls" })
    this.list = element("nav", { className: "way" })
    this.said = element("div", { className: "both" })
    this.code = element("div", { className: "slip" })
    this.notice = element("p", { className: "sentence" })
    const shown = element("div", { className: "walked" }, this.stage.element, this.said, this.code)
    this.body = element("div", { className: "body" }, this.list, shown)
    host.append(this.controls, this.body, this.notice)
  }

  receive(data) {
    const newRun = data.run.key !== this.run?.key
    if (newRun) this.numbers = numbersOf(data.run.address, () => this.toPython.setTriggerValue("gone", data.run.key))
    if (newRun || data.run.language !== this.run.language) {
      Object.assign(this, { run: new Run(data.run), words: data.words, palettes: data.palettes, sized: null })
      this.build()
    }
    this.follow(data)
    this.draw()
  }

  build() {
    const { run, words } = this
    this.kind = choice(words["kind"], run.kinds.map(({ kind }) => [kind, words[`kind.${kind}`]]), (kind) => this.set({ kind }))
    this.sliders = element("div", { className: "sliders" })
    this.seed = slider(words["bugs.seed"], run.seeds, (seed) => this.set({ seed }))
    const save = button(words["picture.save"], () => this.stage.save(this.host.dataset.shown, this.palette.background), { sign: "⤓" })
    this.controls.replaceChildren(element("div", { className: "row" }, this.kind.element, this.sliders, this.seed.element, element("div", { className: "end" }, save)))
    this.rows = new Map(run.bugs.map(({ name, impossible }) => {
      const row = element("button", { type: "button", text: words[`bugs.name.${name}`], disabled: Boolean(impossible), title: impossible ?? "" })
      row.onclick = () => this.set({ bug: name })
      return [name, row]
    }))
    this.list.ariaLabel = words["page.bugs"]
    this.list.replaceChildren(element("span", { className: "caption", text: words["bugs.list"] }), ...this.rows.values())
  }

  get palette() {
    return this.palettes[this.theme][this.state.kind]
  }

  get state() {
    return this.run.fitted(this.wanted)
  }

  set(changes) {
    this.wanted = { ...this.wanted, ...changes }
    this.draw()
    this.tell()
  }

  draw() {
    const { state } = this, { kind, layer, head, bug, seed } = state
    this.show(state)
    this.painted([["played", { kind, layer, head, bug, seed: bug === "dropout_on" ? seed : 1 }]], ([played]) => this.paint(played), () => this.coming)
  }

  // The controls, true to the state.
  show({ kind, layer, head, bug, seed }) {
    const { heads } = this.run.kinds.find((one) => one.kind === kind)
    if (this.sized !== `${kind} ${heads[layer]}`) {
      this.layer = slider(filled(this.words["layer"], { most: heads.length }), heads.length, (at) => this.set({ layer: at - 1 }))
      this.head = slider(filled(this.words["head"], { most: heads[layer] }), heads[layer], (at) => this.set({ head: at - 1 }))
      this.sliders.replaceChildren(this.layer.element, this.head.element)
    }
    this.sized = `${kind} ${heads[layer]}`
    this.kind.show(kind)
    this.layer.show(layer + 1)
    this.head.show(head + 1)
    this.seed.element.hidden = bug !== "dropout_on"
    this.seed.show(seed)
    for (const [name, row] of this.rows) row.ariaCurrent = name === bug ? "true" : null
  }

  paint(played) {
    const { state, run, words, palette } = this, size = this.stage.size
    if (!size.width || !size.height) return
    const titles = { right: words["bugs.right"], broken: words["bugs.broken"] }
    const drawn = twoSides({ played, titles, queries: run.rows(state.kind, words), ...size, palette, words, hovered: this.stage.hovered })
    const name = `${words[`bugs.name.${state.bug}`]}, ${run.nameOf(state, words)}`
    this.stage.paint(drawn, name)
    this.said.replaceChildren(...says(played, words))
    this.code.replaceChildren(...slip(played))
    this.notice.replaceChildren(element("span", { text: words[`bugs.what.${state.bug}`] }), " ", element("b", { text: words["bugs.notice"] }), " ", element("span", { text: words[`bugs.notice.${state.bug}`] }))
    this.host.dataset.shown = name
    this.host.shown = { state, played, picture: drawn }  // what tests read
  }

  fail(error) {
    console.warn(error)
    this.notice.textContent = this.words["explorer.failed"]
  }

  close() {
    super.close()
    this.stage.close()
  }
}
