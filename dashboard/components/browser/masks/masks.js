// The mask lab: the mask of a head, to be painted in, and beside it what that does.

import { element } from "../controls.js"
import { numbersOf } from "../numbers.js"
import { Page } from "../page.js"
import { Stage } from "../stage.js"
import { filled } from "../words.js"
import { all } from "./all.js"
import { Bar } from "./bar.js"
import { Stroke } from "./brush.js"
import { brushed, changed, patched, together, tooMany } from "./edits.js"
import { editor } from "./editor.js"
import { effect } from "./effect.js"
import { Files } from "./files.js"
import { findings } from "./findings.js"
import { layers, leaks, padding } from "./grids.js"
import { History } from "./history.js"
import { Later } from "./later.js"
import { Run } from "./run.js"
import { sentence } from "./sentence.js"
import { wordsChanged } from "./words_changed.js"

const OF_HEAD = ["masked", "masks", "check", "uploaded", "file"]  // questions about one; all others are of the whole run

// What stands beside the mask: what it asks the server for, beside the masks and patterns, and how it is drawn. What takes
// long comes later: the picture does not wait for it.
const BESIDE = {
  effect: { asks: [], picture: effect },
  words: { asks: ["chances"], later: "written", picture: wordsChanged },
  layers: { asks: ["layers"], picture: layers },
  masks: { asks: ["masks"], picture: all },
  leaks: { asks: ["leaks"], picture: leaks },
  padding: { asks: ["padding"], picture: padding },
  check: { asks: ["check"] },
}

export class MaskLab extends Page {
  constructor(host) {
    super(host)
    this.left = new Stage(() => {}, () => this.draw())
    this.right = new Stage((changes) => this.set(changes), () => this.draw())
    this.controls = element("div", { className: "controls" })
    this.found = element("div", { className: "findings", hidden: true })
    this.beside = element("div", { className: "beside" })
    this.body = element("div", { className: "body" }, this.left.element, this.beside)
    this.says = element("p", { className: "sentence" })
    this.history = new History()
    this.later = new Later(() => this.draw(), (error) => this.fail(error))
    host.addEventListener("keydown", (event) => this.key(event))
    host.append(this.controls, this.body, this.says)
  }

  receive(data) {
    const newRun = data.run.key !== this.run?.key
    if (newRun) {
      this.numbers = numbersOf(data.run.address, () => this.toPython.setTriggerValue("gone", data.run.key))
      this.shownMask = this.last = this.right.zoom = null
    }
    if (newRun || data.run.language !== this.run.language) {
      Object.assign(this, { run: new Run(data.run), words: data.words, palettes: data.palettes })
      this.files = new Files(data.words, this.run.limits.bytes, (what, more) => this.numbers.get(what, { ...this.asked(what), ...more }), (mask) => this.use(mask))
      this.bar = new Bar(this.run, data.words, (changes) => this.set(changes), (...changes) => this.edit(...changes), {
        undo: () => this.go("undo"), redo: () => this.go("redo"), reset: () => this.put([]), cut: (scope) => this.cut(scope),
        save: () => this.right.save(this.host.dataset.shown, this.palette.background),
      }, this.files.element)
      this.controls.replaceChildren(...this.bar.elements)
      this.beside.replaceChildren(...this.bar.beside, this.right.element, this.found)
    }
    this.follow(data)
    this.draw()
  }

  get palette() {
    return this.palettes[this.theme][this.state.kind]
  }

  get state() {
    return this.run.fitted(this.wanted)
  }

  // A question, as the server wants it.
  asked(what) {
    const { kind, layer, head, text, edits } = this.state
    return { ...(OF_HEAD.includes(what) ? { kind, layer, head } : {}), sentence: text, edits: JSON.stringify(edits) }
  }

  set(changes) {
    if ("show" in changes || "kind" in changes) this.right.zoom = this.right.hovered = this.left.hovered = null
    this.wanted = { ...this.wanted, ...changes }
    this.draw()
    this.tell()
  }

  // All edits anew; what stood before can be brought back, of the changes of one gesture what stood before the first.
  put(edits, gesture, changes = {}) {
    const { limits } = this.run, passed = tooMany(edits, limits)
    if (passed) return this.say(filled(this.words[`masks.many.${passed}`], { limit: limits[passed].toLocaleString("en") }))
    this.history.note(this.state.edits, gesture)
    this.set({ ...changes, edits })
  }

  // Change the edit of the chosen scope.
  edit(changes, gesture) {
    this.put(changed(this.state, changes), gesture)
  }

  key(event) {
    const way = { z: event.shiftKey ? "redo" : "undo", y: "redo" }[event.key.toLowerCase()]
    if (!way || !(event.ctrlKey || event.metaKey) || event.composedPath()[0].matches("textarea")) return
    event.preventDefault()
    this.go(way)
  }

  go(way) {
    this.set({ edits: this.history[way](this.state.edits) })
  }

  stroke({ cell }, first) {
    const { state, shownMask } = this, { row, column } = cell
    if (first) this.brush = new Stroke(state, shownMask, cell)
    const cells = this.brush.touch(state, shownMask, cell)
    if (!cells.length) return
    const pair = row === undefined || column === undefined ? state.pair : [row, column]
    this.put(brushed(state, cells), this.brush, { pair })
  }

  // Cut the edge between a query and a key.
  cut(scope) {
    const { state } = this
    this.put(brushed({ ...state, scope }, [[...state.pair, null]]))
  }

  // A mask from outside in place of the head's own.
  use(mask) {
    const columns = this.shownMask.numbers.keys.length, cells = []
    mask.forEach((value, i) => { if (value !== 0) cells.push([Math.floor(i / columns), i % columns, value === -Infinity ? null : value]) })
    this.edit({ own: false, presets: [], runs: together(cells) })
  }

  draw() {
    const { state } = this, view = BESIDE[state.show]
    this.bar.show(state, this.history)
    const wanted = ["masked", ...view.asks].map((what) => [what, this.asked(what)])
    const known = this.numbers.here(...wanted[0]), { numbers, place } = this.shownMask ?? {}
    if (known) this.paintMask(known, known)
    else if (place === placeOfMask(state)) this.paintMask(numbers, patched(numbers, state.edits, state))  // until it is known
    this.painted(wanted, ([numbers, ...others]) => this.paint(view, numbers, others), () => this.coming)
  }

  paint(view, numbers, others) {
    const { state, words, run, palette } = this
    const common = { numbers, state, words, run, palette, palettes: this.palettes[this.theme], last: this.last?.text === state.text ? this.last.written : null }
    const mask = this.paintMask(numbers, numbers), name = run.nameOf(state, words)
    if (!mask) return
    this.right.element.hidden = !view.picture
    this.found.hidden = Boolean(view.picture)
    const asked = Object.fromEntries(view.asks.map((what, i) => [what, others[i]]))
    if (view.later) asked[view.later] = this.later.of(this.numbers, view.later, this.asked(view.later))
    if (asked.written) this.last = { text: state.text, written: asked.written }
    let picture = null
    if (view.picture) {
      const size = this.right.size
      if (!size.width || !size.height) return
      picture = view.picture({ ...common, ...asked, ...size, hovered: this.right.hovered, zoom: this.right.zoom })
      this.right.paint(picture, `${name}, ${words[`masks.show.${state.show}`]}`)
    } else this.found.replaceChildren(...findings(asked.check.findings, words))
    this.files.show(numbers.code, run.of(state.kind).size)
    this.say(sentence({ ...common, ...asked, picture, name }))
    Object.assign(this.host.dataset, { shown: name, view: state.show })
    this.host.shown = { state, numbers, mask: mask.mask, editor: mask, picture, ...asked }  // what tests read
  }

  // cells: { mask, taken }
  paintMask(numbers, { mask, taken }) {
    const { state, words, run, palette } = this, size = this.left.size
    if (!size.width || !size.height) return null
    const picture = editor({ numbers, mask, taken, state, words, run, palette, ...size, hovered: this.left.hovered })
    this.shownMask = { numbers, mask, taken, place: placeOfMask(state) }
    picture.stroke = (target, first) => this.stroke(target, first)
    this.left.paint(picture, run.nameOf(state, words))
    return picture
  }

  say(text) {
    this.says.textContent = text
  }

  fail(error) {
    console.warn(error)
    this.say(this.words["explorer.failed"])
  }

  close() {
    super.close()
    this.left.close()
    this.right.close()
  }
}

function placeOfMask({ kind, layer, head, text }) {
  return `${kind} ${layer} ${head} ${text}`
}
