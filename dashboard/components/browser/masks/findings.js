// What is suspicious about a mask, and the line that repairs it.

import { element } from "../controls.js"
import { filled } from "../words.js"

const MOST_PLACES = 8

export function findings(found, words) {
  if (!found.length) return [element("p", { className: "fine", text: words["masks.check.fine"] })]
  return found.map(({ name, places, repair }) => element("div", { className: "finding" },
    element("p", { text: said(name, places, words) }),
    ...(repair ? [element("pre", { text: repair })] : [])))
}

function said(name, places, words) {
  const some = places.slice(0, MOST_PLACES).join(", ") + (places.length > MOST_PLACES ? " …" : "")
  return filled(words[`masks.check.${name}`], { count: places.length, places: some })
}
