// The entrance: what a page draws by itself in the browser. One of them for each place on a page, kept while it stays.

import { BugTheatre } from "./bugs/bugs.js"
import { fontsReady } from "./draw.js"
import { Explorer } from "./explorer/explorer.js"
import { InsideLayer } from "./inside/inside.js"
import { MaskLab } from "./masks/masks.js"
import { PositionsLab } from "./positions/positions.js"

const PAGES = { bugs: BugTheatre, explorer: Explorer, inside: InsideLayer, masks: MaskLab, positions: PositionsLab }
const shown = new WeakMap()

export function mount({ data, parentElement, setStateValue, setTriggerValue }) {
  const host = parentElement.querySelector(".page")
  fontsReady.then(() => {
    if (!host.isConnected) return
    if (!shown.has(host)) {
      host.classList.add(data.page)
      shown.set(host, new PAGES[data.page](host))
    }
    const page = shown.get(host)
    page.toPython = { setStateValue, setTriggerValue }
    page.receive(data)
  })
  // Called between two runs too, while the element stays: only one that is gone is taken apart.
  return () => setTimeout(() => {
    if (host.isConnected) return
    shown.get(host)?.close()
    shown.delete(host)
  })
}
