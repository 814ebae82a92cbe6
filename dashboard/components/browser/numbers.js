// The numbers that pictures are drawn from, asked of the server once and kept: the last heads that were looked at.

import { unpack } from "./unpack.js"

const LONGEST = 4000  // characters of a question in an address; a longer one is sent apart
const KEPT_CELLS = 8_000_000  // of all kept heads together; 32 MB

const RUNS = 4  // a text has three: its answer, its batch, its scene
const runs = new Map()  // by address, the one looked at longest ago first: who comes back to a page finds it as it was

// The numbers of a run. gone: called when the server has forgotten it.
export function numbersOf(address, gone) {
  const known = runs.get(address) ?? new Numbers(address)
  known.gone = () => {
    runs.delete(address)
    gone()
  }
  runs.delete(address)
  runs.set(address, known)
  if (runs.size > RUNS) runs.delete(runs.keys().next().value)
  return known
}

class Numbers {
  constructor(address) {
    this.address = address
    this.kept = new Map()  // from what was asked to what came, or to the promise of it; the oldest first
  }

  // What came of a request, if it is here already.
  here(what, asked) {
    const entry = this.kept.get(name(what, asked))
    return entry instanceof Promise ? undefined : entry
  }

  // The same, awaited.
  async get(what, asked) {
    const key = name(what, asked)
    const known = this.kept.get(key)
    if (known !== undefined) {
      this.kept.delete(key)
      this.kept.set(key, known)
      return known
    }
    const coming = this.fetch(key)
    this.kept.set(key, coming)
    try {
      const came = await coming
      this.kept.set(key, came)
      this.forget()
      return came
    } catch (error) {
      this.kept.delete(key)
      throw error
    }
  }

  async fetch(key) {
    const [what, asked] = key.split(/\?(.*)/s)
    const response = await (key.length < LONGEST ? fetch(`${this.address}/${key}`) : fetch(`${this.address}/${what}`, { method: "POST", body: asked }))
    if (response.status === 410) this.gone()
    if (!response.ok) throw new Error(`${key.slice(0, 200)}: ${response.status}`)
    return unpack(await response.arrayBuffer())
  }

  forget() {
    let cells = 0
    for (const [key, entry] of [...this.kept].reverse()) {
      cells += size(entry)
      if (cells > KEPT_CELLS) this.kept.delete(key)
    }
  }
}

// How many cells all arrays have together, however deep in an entry they lie.
function size(entry) {
  if (ArrayBuffer.isView(entry)) return entry.length
  return entry && typeof entry === "object" ? Object.values(entry).reduce((sum, one) => sum + size(one), 0) : 0
}

function name(what, asked) {
  return `${what}?${new URLSearchParams(asked)}`
}
