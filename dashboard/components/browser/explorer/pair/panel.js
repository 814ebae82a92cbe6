// Beside the view, in place of all heads: why the chosen pair has its weight. The button in its corner leads back, and
// so does Escape.

import { button, element } from "../../controls.js"
import { Stage } from "../../stage.js"
import { pair } from "./picture.js"

export class PairPanel {
  constructor(explorer) {
    this.explorer = explorer
    this.stage = new Stage((changes) => explorer.set(changes), () => this.draw())
    this.back = button("", () => explorer.set({ pair: null }), { sign: "×", className: "back" })
    this.element = element("div", { className: "side", hidden: true }, this.stage.element, this.back)
    this.numbers = null
    this.pressed = (event) => this.press(event)
    document.addEventListener("keydown", this.pressed)
  }

  // Take the numbers of the chosen pair if they are here, and say whether there is one to explain. Until they come what
  // was there stays.
  ready() {
    const { state, run, numbers } = this.explorer
    if (!state.pair || run.kind(state.kind).long) this.numbers = null
    else {
      const asked = { ...run.asked(state, state), pair: state.pair }
      const here = numbers.here("pair", asked)
      if (here) this.numbers = here.keys ? here : null  // a pair of a longer text is none of this one
      else numbers.get("pair", asked).then(() => this.explorer.draw(), (error) => this.explorer.fail(error))
    }
    return this.numbers !== null
  }

  draw() {
    const { explorer, numbers } = this, { width, height } = this.stage.size
    explorer.host.beside = null
    if (this.element.hidden || !numbers || !width || !height) return
    const picture = pair.picture({ ...explorer.common, numbers, width, height, hovered: this.stage.hovered })
    this.stage.paint(picture, explorer.words["pair.title"])
    this.back.title = this.back.ariaLabel = explorer.words["pair.back"]
    explorer.host.beside = { numbers, picture }  // what tests read
  }

  press(event) {
    const path = event.composedPath()
    const here = path.includes(this.explorer.host) || path[0] === document.body
    const panel = path.some((one) => one.classList?.contains("panel"))  // whose own way to close is Escape
    if (event.key === "Escape" && here && !panel && !this.element.hidden) this.explorer.set({ pair: null })
  }

  close() {
    document.removeEventListener("keydown", this.pressed)
    this.stage.close()
  }
}
