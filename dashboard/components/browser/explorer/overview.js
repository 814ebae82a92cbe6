// Beside the view: every head of every kind, small. Those of a long text come one by one, and the rest can be called off.

import { button, element } from "../controls.js"
import { Stage } from "../stage.js"
import { filled } from "../words.js"
import { heads } from "./views/heads.js"

export class Overview {
  constructor(explorer) {
    this.explorer = explorer
    this.stage = new Stage((changes) => explorer.set(changes), () => this.draw())
    this.progress = element("div", { className: "progress", hidden: true })
    this.element = element("div", { className: "side" }, this.stage.element)
    this.numbers = null
  }

  // Ask for all heads anew.
  async begin() {
    const { explorer } = this, { run, state, numbers } = explorer
    const asking = (this.asking = {})
    this.progress.hidden = true
    if (run.key !== this.shows) this.numbers = { kinds: run.kinds.map(({ kind }) => empty(kind)) }  // no other run's heads
    this.shows = run.key
    try {
      const short = run.kinds.some((one) => !one.long) ? await numbers.get("heads", this.asked(run, state)) : { kinds: [] }
      if (asking !== this.asking) return
      this.numbers = { kinds: run.kinds.map(({ kind, long }) => (long ? empty(kind) : short.kinds.find((one) => one.kind === kind))) }
      explorer.draw()
      explorer.host.dataset.overview = JSON.stringify(this.asked(run, state))
      await this.oneByOne(asking)
    } catch (error) {
      if (asking === this.asking) explorer.fail(error)
    }
  }

  asked(run, state) {
    return {
      quantity: state.measure, unit: state.unit, over: state.over, hidden: state.special === "hidden",
      cross: state.cross_rows, decoder: state.decoder_rows, language: run.language,
    }
  }

  async oneByOne(asking) {
    const { explorer } = this, { run, state, numbers, words } = explorer
    const long = this.numbers.kinds.filter((one) => run.kind(one.kind).long)
    const all = long.flatMap((one) => run.kind(one.kind).heads).reduce((sum, count) => sum + count, 0)
    if (!all) return
    const says = element("span"), stop = button(words["overview.stop"], () => { this.asking = null; this.progress.hidden = true })
    this.progress.replaceChildren(says, stop)
    this.progress.hidden = false
    let done = 0
    for (const one of long) {
      for (const [layer, count] of run.kind(one.kind).heads.entries()) {
        for (let head = 0; head < count; head++) {
          says.textContent = filled(words["overview.progress"], { done, all })
          const tile = await numbers.get("tile", { kind: one.kind, layer, head, quantity: state.measure })
          if (asking !== this.asking) return
          one.tiles[run.place(one.kind, layer, head)] = tile.cells
          one.sizes[layer] = [tile.rows, tile.columns]
          done += 1
          explorer.draw()
        }
      }
    }
    this.progress.hidden = true
  }

  draw() {
    const { width, height } = this.stage.size
    if (!this.numbers || !width || !height) return
    const { explorer } = this
    const picture = heads.picture({ ...explorer.common, width, height, hovered: this.stage.hovered })
    this.stage.paint(picture, explorer.words["overview"])
    explorer.host.tiles = picture.tiles  // what tests read
  }

  close() {
    this.asking = null
    this.stage.close()
  }
}

// A kind of which no head has come yet.
function empty(kind) {
  return { kind, sizes: [], tiles: [], strongest: [] }
}
