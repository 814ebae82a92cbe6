// The explorer's entrance: one explorer for each place on a page, kept while the place stays.

import { Explorer } from "./explorer.js"

const explorers = new WeakMap()

export function mount({ data, parentElement, setStateValue, setTriggerValue }) {
  const host = parentElement.querySelector(".explorer")
  if (!explorers.has(host)) explorers.set(host, new Explorer(host))
  const explorer = explorers.get(host)
  explorer.toPython = { setStateValue, setTriggerValue }
  explorer.receive(data)
  // Called between two runs too, while the element stays: only one that is gone is taken apart.
  return () => setTimeout(() => {
    if (host.isConnected) return
    explorer.close()
    explorers.delete(host)
  })
}
