// The positions lab: controls, one picture of a table of positions, and what is to be seen in it.

import { element } from "../controls.js"
import { numbersOf } from "../numbers.js"
import { Page } from "../page.js"
import { paragraph } from "../parts.js"
import { Stage } from "../stage.js"
import { written } from "../axes.js"
import { filled } from "../words.js"
import { Bar } from "./bar.js"
import { Lab } from "./lab.js"
import { VIEWS } from "./views/index.js"

const TABLE = ["values", "width", "length", "base", "layout"]  // what makes it another table

export class PositionsLab extends Page {
  constructor(host) {
    super(host)
    this.stage = new Stage((changes) => this.set(changes), () => this.draw())
    this.controls = element("div", { className: "controls" })
    this.says = element("p", { className: "sentence" })
    this.legend = element("p", { className: "legend" })
    host.append(this.controls, element("div", { className: "body" }, this.stage.element), element("div", {}, this.says, this.legend))
  }

  // What Python says after each of its runs.
  receive(data) {
    if (data.run.key !== this.lab?.key || data.run.language !== this.lab.language) this.begin(data)
    this.follow(data)
    this.fit()
    this.draw()
  }

  begin({ run, words, palettes }) {
    if (run.key !== this.lab?.key) {
      this.numbers = numbersOf(run.address, () => this.toPython.setTriggerValue("gone", run.key))
      this.stage.zoom = null
    }
    Object.assign(this, { lab: new Lab(run), words, palettes })
    this.bar = new Bar(this.lab, words, (changes) => this.set(changes), {
      save: () => this.stage.save(this.host.dataset.shown, this.palette.background),
      zoom: (by) => (by ? this.stage.scale(by) : this.stage.show(null)),
    })
    this.controls.replaceChildren(...this.bar.elements)
  }

  get palette() {
    return this.palettes[this.theme][this.state.values]
  }

  get view() {
    return VIEWS[this.state.view]
  }

  set(changes) {
    const before = this.state
    const other = (name) => name in changes && changes[name] !== before[name]
    this.wanted = { ...this.wanted, ...changes }
    if (["view", ...TABLE].some(other)) this.stage.zoom = this.stage.hovered = null
    this.fit()
    this.draw()
    this.tell(other("view"))
  }

  fit() {
    this.state = this.lab.fitted(this.wanted)
    this.table = this.lab.table(this.state)
    this.lacking = this.table ? this.view.lacks?.(this.table, this.lab, this.state) ?? null : "positions.none"
    this.bar.show(this.state, this.table, !this.lacking)
  }

  async draw() {
    if (this.lacking) return this.sayLacking()
    const wanted = this.view.requests(this.state, this.table, this.lab).map(([what, extra]) => [what, this.lab.asked(this.state, extra)])
    await this.painted(wanted, (numbers) => this.paint(numbers), () => this.coming)
  }

  paint(numbers) {
    const { width, height } = this.stage.size
    if (!width || !height) return
    const { state, table, lab, palette, words } = this
    const scene = { numbers, state, table, lab, palette, palettes: this.palettes[this.theme], words, width, height, hovered: this.stage.hovered, zoom: this.stage.zoom }
    const picture = this.view.picture(scene)
    if (picture.seen) picture.whole = this.view.size(table)
    this.show(picture, numbers, this.view.says(scene), this.about(scene))
  }

  // In place of a picture: why there is none.
  sayLacking() {
    this.drawing = null
    const { width, height } = this.stage.size, wide = Math.min(width - 20, 560)
    const { items, height: tall } = paragraph(this.words[this.lacking], { width: wide, size: 17, palette: this.palette }, { fill: this.palette.text })
    const centred = items.map((item) => ({ ...item, x: (width - wide) / 2, y: item.y + (height - tall) / 2 }))
    this.show({ items: centred, lacking: this.lacking }, [], "", "")
  }

  show(picture, numbers, sentence, legend) {
    const name = `${this.words[`positions.view.${this.state.view}`]}: ${this.words[`positions.values.${this.state.values}`]}`
    this.stage.paint(picture, name)
    this.says.textContent = sentence
    this.legend.textContent = legend
    this.host.shown = { state: this.state, table: this.table, numbers, picture }  // what tests read
    this.host.dataset.view = this.state.view
    this.host.dataset.shown = name
  }

  // Where the values come from, and how many there are.
  about(scene) {
    const { kind, length, whole, layout, tokens } = this.table, { words } = this
    const gaps = { length: written(length), tokens: written(tokens.length) }
    const from = words[this.state.values === "free" ? `positions.about.free.${layout}` : this.view.origin ?? `positions.about.${kind}`]
    const cut = whole > length ? [filled(words["positions.about.cut"], { length: written(length), whole: written(whole) })] : []
    return [filled(from, gaps), ...cut, ...(this.view.about?.(scene) ?? [])].join(" · ")
  }

  fail(error) {
    console.warn(error)
    this.says.replaceChildren(element("span", { className: "failed", text: this.words["explorer.failed"] }))
  }

  close() {
    super.close()
    this.stage.close()
  }
}
