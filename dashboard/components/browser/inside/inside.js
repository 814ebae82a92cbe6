// Inside a layer: a walk from token ids to the layer's output, a step at a time, with the code that does each.

import { element } from "../controls.js"
import { numbersOf } from "../numbers.js"
import { Page } from "../page.js"
import { Stage } from "../stage.js"
import { filled } from "../words.js"
import { Bar } from "./bar.js"
import { Code } from "./code.js"
import { Legend } from "./legend.js"
import { StepList } from "./list.js"
import { picture } from "./picture.js"
import { Way } from "./way.js"

const WITH_ARROWS = "input:not([type=checkbox])"  // what has a use of its own for arrow keys
const KEYS = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }

export class InsideLayer extends Page {
  constructor(host) {
    super(host)
    this.stage = new Stage((changes) => this.set(changes), () => this.draw())
    this.list = new StepList((at) => this.set({ at }))
    this.code = new Code()
    this.legend = new Legend()
    this.controls = element("div", { className: "controls" })
    this.body = element("div", { className: "body" }, this.list.element, element("div", { className: "walked" }, this.stage.element, this.code.element))
    this.ways = new WeakMap()
    host.append(this.controls, this.body, this.legend.element)
    host.addEventListener("click", (event) => this.letGo(event))
    this.pressed = (event) => this.press(event)
    document.addEventListener("keydown", this.pressed)
  }

  receive(data) {
    const { run, words, palettes } = data
    const newRun = run.key !== this.run?.key
    if (newRun) this.numbers = numbersOf(run.address, () => this.toPython.setTriggerValue("gone", run.key))
    if (newRun || run.language !== this.run.language) {
      Object.assign(this, { run, words, palettes })
      this.bar = new Bar(run, words, (changes) => this.set(changes), {
        save: () => this.stage.save(this.host.dataset.shown, this.palette.background),
        step: (by) => this.go(by),
      })
      this.controls.replaceChildren(this.bar.element)
    }
    this.follow(data)
    this.draw()
  }

  get palette() {
    return this.palettes[this.theme][this.state.kind]
  }

  // What is wanted, within what this run has.
  get state() {
    const { kinds } = this.run
    const { kind, heads } = kinds.find((one) => one.kind === this.wanted.kind) ?? kinds.at(-1)
    const layer = Math.min(this.wanted.layer, heads.length - 1)
    const head = this.wanted.head === "mean" ? 0 : Math.min(this.wanted.head, heads[layer] - 1)
    return { ...this.wanted, kind, layer, head }
  }

  set(changes) {
    const moved = ["at", "tensor", "kind", "layer"].some((name) => name in changes)
    if (moved) this.stage.zoom = this.stage.hovered = null
    this.wanted = { ...this.wanted, ...changes }
    this.draw()
    this.tell()
  }

  // So many steps on, or back, from the one that is wanted: what is painted may lag behind a held key.
  go(by) {
    if (!this.way) return
    const { steps } = this.way, place = this.way.place(this.state.at)
    const next = steps[Math.min(steps.length - 1, Math.max(0, place + by))].name
    if (next !== steps[place].name) this.set({ at: next })
  }

  // A pointer leaves no focus behind on what would keep the arrow keys to itself.
  letGo({ pointerType }) {
    const root = this.host.getRootNode()
    if (pointerType) setTimeout(() => { if (root.activeElement?.matches(WITH_ARROWS)) root.activeElement.blur() })
  }

  press(event) {
    const path = event.composedPath(), [target] = path
    const typing = target.isContentEditable || target.matches?.(`textarea, select, ${WITH_ARROWS}`)
    const here = path.includes(this.host) || target === document.body
    if (!(event.key in KEYS) || !here || typing || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return
    event.preventDefault()
    this.go(KEYS[event.key])
  }

  // The walk says which steps there are, the step which tensors and cells: each is asked for when the one before is known.
  draw() {
    const { state } = this, { kind, layer, head } = state, place = { kind, layer, head }
    this.bar.show(state)
    const { long } = this.run.kinds.find((one) => one.kind === kind)
    this.body.hidden = long
    if (long) return this.tooLong()
    this.painted([["walk", place]], ([walk]) => {
      const way = this.wayOf(walk), step = way.step(state.at), asked = { ...place, step: step.name }
      this.painted([["walk_tensors", asked]], ([numbers]) => {
        const values = numbers.tensors.find((one) => one.name === state.tensor) ?? numbers.tensors[0]
        const cell = fitted(state.cell, values)
        const [row, column] = cell
        this.painted([["walk_cell", { ...asked, tensor: values.name, row, column }]], ([taken]) => {
          this.paint({ way, step, numbers, values, cell, taken })
          this.ahead(way, step, place)
        })
      })
    })
  }

  wayOf(walk) {
    if (!this.ways.has(walk)) this.ways.set(walk, new Way(walk))
    return this.ways.get(walk)
  }

  paint({ way, step, numbers, values, cell, taken }) {
    const { state, words, palette } = this, { width, height } = this.stage.size
    if (!width || !height) return
    this.way = way
    this.list.show(way, step.name, palette, words)
    this.bar.count(way.place(step.name), way.steps.length)
    this.code.show(numbers, step.name, state.batch_first, words)
    const name = this.nameOf(state, step)
    const drawn = picture({
      way, step, values, several: numbers.tensors, cell: taken, place: cell, state, width, height, palette, words,
      hovered: this.stage.hovered, zoom: this.stage.zoom,
    })
    this.stage.paint(drawn, name)
    this.legend.show({ way, step, values, state, words, palette })
    this.host.dataset.shown = name
    this.host.shown = { state, way, step: step.name, numbers, values, cell, taken, picture: drawn }  // what tests read
  }

  nameOf({ kind, layer, head }, step) {
    const title = filled(this.words["title"], { kind: this.words[`kind.${kind}`], layer: layer + 1, head: head + 1 })
    return `${title}, ${this.words[`inside.step.${step.name}`]}`
  }

  // Ask for the steps on both sides, before anybody goes there.
  ahead(way, step, place) {
    for (const by of [-1, 1]) {
      const next = way.on(step.name, by)
      if (next) this.numbers.get("walk_tensors", { ...place, step: next }).catch(() => {})
    }
  }

  tooLong() {
    this.way = null
    this.legend.say(filled(this.words["inside.long"], { limit: this.run.limit }))
    this.host.dataset.shown = "long"
  }

  fail(error) {
    console.warn(error)
    this.legend.say(this.words["explorer.failed"])
  }

  close() {
    super.close()
    document.removeEventListener("keydown", this.pressed)
    this.stage.close()
  }
}

// The wanted cell, within the tensor; without one, the largest number in the middle row.
function fitted(cell, { cells, size: [rows, columns] }) {
  if (cell) return [Math.min(cell[0], rows - 1), Math.min(cell[1], columns - 1)]
  const row = Math.floor(rows / 2), sizes = Array.from(cells.subarray(row * columns, (row + 1) * columns), (value) => Math.abs(value) || 0)
  return [row, sizes.indexOf(Math.max(...sizes))]
}
