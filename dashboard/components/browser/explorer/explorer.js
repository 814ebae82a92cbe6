// The explorer: controls, one view of a run, and beside it every head, or why the chosen pair has its weight. It draws
// by itself; Python runs the model, gives the numbers, and keeps the address.

import { Bar } from "./bar.js"
import { element } from "../controls.js"
import { totals } from "../matrix.js"
import { numbersOf } from "../numbers.js"
import { Overview } from "./overview.js"
import { Page } from "../page.js"
import { PairPanel } from "./pair/panel.js"
import { Run } from "./run.js"
import { Sentence } from "./sentence.js"
import { Stage } from "../stage.js"
import { VIEWS, far } from "./views/index.js"
import { sideOfPicked } from "./views/text.js"

const ZOOMED = 120  // milliseconds without a change, after which the part of a long text that is in view is asked for

export class Explorer extends Page {
  constructor(host) {
    super(host)
    this.main = new Stage((changes) => this.set(changes), () => this.draw())
    this.overview = new Overview(this)
    this.pair = new PairPanel(this)
    this.sentence = new Sentence()
    this.controls = element("div", { className: "controls" })
    this.body = element("div", { className: "body" }, this.main.element, this.overview.element, this.pair.element)
    this.sentence.element.prepend(this.overview.progress)
    host.append(this.controls, this.body, this.sentence.element)
  }

  // What Python says after each of its runs.
  receive(data) {
    const newRun = data.run.key !== this.run?.key || data.run.language !== this.run.language
    if (newRun) this.begin(data)
    this.follow(data)
    this.state = this.run.fitted(this.wanted)  // what was wanted comes back with a run that has it
    this.bar.show(this.state)
    if (newRun) this.overview.begin()
    this.draw()
  }

  begin({ run, words, palettes }) {
    if (run.key !== this.run?.key) {
      this.numbers = numbersOf(run.address, () => this.toPython.setTriggerValue("gone", run.key))
      this.main.zoom = null
    }
    Object.assign(this, { run: new Run(run, words), words, palettes })
    this.bar = new Bar(this.run, words, (changes) => this.set(changes), {
      save: () => this.main.save(this.host.dataset.shown, this.palette.background),
      zoom: (by) => (by ? this.main.scale(by) : this.main.show(null)),
    })
    this.controls.replaceChildren(...this.bar.elements)
  }

  get themed() {
    return this.palettes[this.theme]
  }

  get palette() {
    return this.themed[this.state.kind]
  }

  // What every picture is drawn with.
  get common() {
    return { state: this.state, run: this.run, palettes: this.themed, words: this.words, overview: this.overview.numbers }
  }

  set(changes) {
    const before = this.state
    const other = (name) => name in changes && changes[name] !== before[name]
    this.wanted = { ...this.wanted, ...changes }
    if (["kind", "unit", "special"].some(other)) {  // tokens are counted anew
      this.main.zoom = null
      this.wanted = { ...this.wanted, pair: null, picked: [], ...changes }
    }
    if (sideOfPicked(this.wanted) !== sideOfPicked(before) && !this.run.isOneText(before)) this.wanted.picked = []  // no other tokens
    if (other("view")) this.main.zoom = this.main.hovered = null
    this.state = this.run.fitted(this.wanted)
    this.bar.show(this.state)
    this.draw()
    if (["measure", "unit", "special", "over", "cross_rows", "decoder_rows"].some(other)) this.overview.begin()
    this.tell(other("view"))
  }

  async draw() {
    const { view, wanted } = this.needs()
    await this.painted(wanted, (came) => this.paint(view, came), view === far ? () => this.meanwhile(wanted[0][1]) : null)
  }

  // Until the part of a long text that is in view has come, what was painted last stands for it.
  async meanwhile(asked) {
    if (this.near(asked)) this.show(far, [this.last.numbers])
    await new Promise((later) => setTimeout(later, ZOOMED))
  }

  // The view, and the numbers it is drawn from: [what, asked] each, the selected head's first.
  needs() {
    const { state, run } = this
    if (run.kind(state.kind).long) {
      const view = state.view === "heads" ? VIEWS.heads : far
      const shown = view === far ? state : { ...state, pool: "max" }  // as in the small pictures
      return { view, wanted: [["window", far.asked(run, shown, this.main.zoom)]] }
    }
    const view = VIEWS[state.view]
    const wanted = view.requests(state, run).map((one) => ["head", run.asked(one, state)])
    return { view, wanted: view.steps ? [...wanted, ["steps", { language: run.language }]] : wanted }
  }

  // Whether what was painted last is of the same head, and so may stand for what is in view until that has come.
  near(asked) {
    const same = ["kind", "layer", "head", "quantity", "pool"]
    return this.last && same.every((name) => this.last.asked[name] === asked[name])
  }

  paint(view, came) {
    if (view === far) this.last = { numbers: came[0], asked: this.needs().wanted[0][1] }
    this.body.hidden = Boolean(view.server)
    this.pair.element.hidden = Boolean(view.wide) || !this.pair.ready()
    this.overview.element.hidden = Boolean(view.wide || view.alone) || !this.pair.element.hidden
    if (!view.server && !this.show(view, came)) return
    this.overview.draw()
    this.pair.draw()
    this.sentence.show(came[0], this.state, this.run, this.words, this.palette, !view.server)
    this.host.dataset.view = this.state.view
    this.host.dataset.shown = this.run.name(this.state)
    if (view !== far) this.ahead()
  }

  show(view, came) {
    const { width, height } = this.main.size
    if (!width || !height) return false
    const heads = view.steps ? came.slice(0, -1) : came, steps = view.steps ? came.at(-1) : null
    const picture = view.picture({ ...this.common, heads, steps, width, height, hovered: this.main.hovered, zoom: this.main.zoom })
    if (picture.seen) picture.whole = totals(heads[0])
    this.main.paint(picture, this.run.name(this.state))
    this.host.shown = { state: this.state, numbers: heads, picture }  // what tests read
    return true
  }

  // Ask for the heads that a slider would come to next, before anybody moves it.
  ahead() {
    clearTimeout(this.looking)
    this.looking = setTimeout(() => {
      const { state, run } = this, { heads: counts } = run.kind(state.kind)
      const next = [-1, 1].flatMap((by) => [{ ...state, layer: state.layer + by }, ...(state.head === "mean" ? [] : [{ ...state, head: state.head + by }])])
      for (const one of next) {
        if (one.layer < 0 || one.layer >= counts.length || one.head < 0 || one.head >= counts[one.layer]) continue
        for (const asked of VIEWS[state.view].requests(one, run)) this.numbers.get("head", run.asked(asked, one)).catch(() => {})
      }
    }, 30)
  }

  fail(error) {
    console.warn(error)
    this.sentence.fail(this.words["explorer.failed"])
  }

  close() {
    super.close()
    this.main.close()
    this.overview.close()
    this.pair.close()
  }
}
