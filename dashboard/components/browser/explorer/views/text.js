// The text itself: each token shaded by what the picked one reads, or by who reads the picked one.

import { mixed, readable, share } from "../../colour.js"
import { choice } from "../../controls.js"
import { textWidth } from "../../draw.js"
import { cellTip } from "../../tips.js"
import { filled, fitted, shown } from "../../words.js"
import { fittingSize, flow } from "./flow.js"
import { spaced } from "./spacing.js"
import { faded } from "./strands.js"
import { tokenTip } from "./threads.js"

const HEADING = { size: 14, height: 26 }, TITLE = { size: 12.5, height: 24 }, APART = 14  // pixels

export const text = {
  requests: (state) => [{ kind: state.kind, layer: state.layer, head: state.head }],

  picture({ heads: [numbers], state, run, palettes, width, height, words, hovered }) {
    const palette = palettes[state.kind], near = sideOfPicked(state), far = near === "queries" ? "keys" : "queries"
    const sides = run.isOneText(state) ? [far] : ["queries", "keys"]
    const picked = pick(numbers, near, state)
    const cell = (index) => (near === "queries" ? { row: picked, column: index } : { row: index, column: picked })
    const { texts, size } = arranged(sides, { numbers, state, run, width, height })
    const items = heading(picked, numbers[near], { state, words, palette, width })
    for (const { side, title, boxes, tokens } of texts) {
      if (title) items.push({ type: "text", ...title, size: TITLE.size, fill: palette.faint })
      boxes.forEach((box, index) => {
        const value = side === far && picked !== null ? valueAt(numbers, cell(index)) : null
        const outlined = index === picked && (side === near || sides.length === 1)
        const pointed = hovered?.side === side && hovered.index === index
        const special = numbers.special[side][index] && state.special === "dimmed"
        items.push(...token({ box, value, outlined, pointed, special, size, direction: tokens[index].direction }, { numbers, state, palette, row: cell(index).row, side, index }))
      })
    }
    return {
      items,
      at(x, y) {
        const token = pointedAt(texts, x, y)
        if (!token) return null
        const shaded = token.side === far && picked !== null, picks = token.side === near || sides.length === 1
        const tip = shaded ? cellTip(numbers, cell(token.index), state, words) : tokenTip(token, [{ numbers, head: state.head }], words)
        return { hovered: token, tip, ...(picks && { select: { picked: [token.index] } }) }
      },
    }
  },

  controls(run, words, change) {
    const ways = ["reads", "read_by"].map((way) => [way, words[`text.${way}`]])
    const reading = choice(words["text.shade"], ways, (way) => change({ reading: way }))
    return [{ element: reading.element, update: (state) => reading.show(state.reading) }]
  },
}

// Picked tokens are queries, but here, where the text is shaded by who reads them, keys.
export function sideOfPicked({ view, reading }) {
  return view === "text" && reading === "read_by" ? "keys" : "queries"
}

// The picked token, or that of the strongest pair; null where there is none.
function pick(numbers, side, { picked: [first] }) {
  if (first < numbers[side].length) return first
  const { queries, keys, special, cells } = numbers
  let best = null
  for (const ordinary of [true, false]) {
    for (let i = 0; i < cells.length; i++) {
      const row = Math.floor(i / keys.length), column = i % keys.length
      if (ordinary && (special.queries[row] || special.keys[column])) continue
      if (cells[i] === cells[i] && !(best && cells[i] <= best.value)) best = { value: cells[i], queries: row, keys: column }
    }
    if (best) return best[side]
  }
  return queries.length && keys.length ? 0 : null
}

function valueAt({ cells, keys }, { row, column }) {
  return cells[row * keys.length + column]
}

// Where the texts stand, one above the other: { side, title, tokens, boxes } each.
function arranged(sides, { numbers, state, run, width, height }) {
  const all = sides.map((side) => spaced(numbers[side], numbers.special[side], numbers.spaced[side], state))
  const titled = sides.length > 1, axes = run.axes(state.kind, state)
  const room = height - HEADING.height - (titled ? 2 * TITLE.height + APART : 0)
  const size = fittingSize(all, width, room)
  let top = HEADING.height
  const texts = all.map((tokens, i) => {
    const { boxes, height: high, base } = flow(tokens, size, width)
    const title = titled && { x: base === "rtl" ? width : 0, anchor: base === "rtl" ? "end" : "start", y: top + TITLE.height / 2, text: axes[sides[i]] }
    top += titled ? TITLE.height : 0
    const placed = boxes.map((box) => ({ ...box, y: box.y + top }))
    top += high + APART
    return { side: sides[i], title, tokens, boxes: placed }
  })
  return { texts, size }
}

function heading(picked, labels, { state, words, palette, width }) {
  if (picked === null) return []
  const said = filled(words[`text.heading.${state.reading}`], { token: `\u2068${shown(labels[picked], state)}\u2069` })
  const style = { size: HEADING.size }
  return [{ type: "text", x: 0, y: HEADING.height / 2 - 2, text: fitted(said, width, (one) => textWidth(one, style)), ...style, fill: palette.text }]
}

// value: null where nothing is shaded, not-a-number where the mask forbids the pair.
function token({ box, value, outlined, pointed, special, size, direction }, { numbers, state, palette, row, side, index }) {
  const blocked = Number.isNaN(value), { x, y, width, height } = box
  const part = value === null || blocked ? 0 : share(value, numbers, state.scale === "log") * faded(numbers, row)
  const fill = blocked ? palette.blocked : value === null ? undefined : mixed(palette.background, palette.strong, part)
  const ink = blocked || (special && part < 0.3) ? palette.faint : readable(part, palette)
  const stroke = outlined ? palette.text : pointed ? palette.faint : undefined
  return [
    ...(fill || stroke ? [{ type: "rect", x, y, width, height, fill, stroke, lineWidth: outlined ? 2 : 1, side, index, value, outlined }] : []),
    {
      type: "text", x: x + width / 2, y: y + height / 2, text: box.text, size, anchor: "middle", fill: ink, opacity: special ? 0.6 : 1,
      direction: direction === "rtl" ? "rtl" : "ltr", side, index,
    },
  ]
}

function pointedAt(texts, x, y) {
  for (const { side, boxes } of texts) {
    const index = boxes.findIndex((box) => x >= box.x && x < box.x + box.width && y >= box.y && y < box.y + box.height)
    if (index >= 0) return { side, index }
  }
  return null
}
