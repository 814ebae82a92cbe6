// Every step, one under another: what was read, what was to be predicted, how likely that was, and what it cost.

import { textWidth } from "../../../draw.js"
import { filled, shown } from "../../../words.js"
import { bar, dashed, exact, inside, lines, nothing, short, SIZE, SMALL, title, TITLE, token } from "./pieces.js"

const HEADINGS = 20, FOOT = 22
const PITCH = { least: 19, most: 26 }
const LEAST_BAR = 58, MOST_BAR = 180, NUMBER = 38  // of a bar with its number, and of the number

// How high a strip of so many steps would like to be.
export function tallest(steps) {
  return TITLE + HEADINGS + PITCH.most * steps + FOOT
}

export function strip(scene, box) {
  const { told, step, words, palette, hovered } = scene
  if (told.forgotten) return warning(scene, box)
  const count = told.read.length
  const table = { ...box, y: box.y + TITLE + HEADINGS, height: box.height - TITLE - HEADINGS - FOOT }
  const fit = Math.min(count, Math.max(1, Math.floor(table.height / PITCH.least)))
  const from = Math.max(0, Math.min(step - Math.floor(fit / 2), count - fit))
  const pitch = Math.min(PITCH.most, table.height / fit)
  const at = columns(scene, box, from, from + fit)
  const items = [title(words[`steps.title.${what(told)}`], box, palette.text)]
  if (fit < count) {
    const text = filled(words["steps.window"], { from: from + 1, to: from + fit, count })
    items.push({ type: "text", x: box.x + box.width, y: box.y + TITLE / 2, text, size: SMALL, anchor: "end", fill: palette.faint })
  }
  for (const [name, { x, width, anchor }] of Object.entries(at)) {
    if (name === "number") continue
    const edge = anchor === "end" ? x + width : x
    items.push({ type: "text", x: edge, y: box.y + TITLE + HEADINGS / 2, text: words[heading(name, told)], size: SMALL, anchor, fill: palette.faint })
  }
  for (let one = from; one < from + fit; one++) {
    const place = { x: box.x, y: table.y + (one - from) * pitch, width: box.width, height: pitch }
    items.push(...row(scene, one, place, at, one === step, hovered?.part === "strip" && hovered.step === one))
  }
  items.push(...mean(scene, { ...box, y: table.y + fit * pitch + 3 }))
  return {
    items,
    at(x, y) {
      const one = from + Math.floor((y - table.y) / pitch)
      if (!inside({ ...table, height: fit * pitch }, { x, y }) || one >= from + fit) return null
      return { hovered: { part: "strip", step: one }, tip: tip(scene, one), select: { step: one } }
    },
  }
}

// What stands in the strip: a target that somebody typed, one that the model wrote, or a text to go on with.
function what(told) {
  if (told.guess !== null) return "text"
  return told.typed ? "typed" : "written"
}

function heading(name, told) {
  return name === "label" && what(told) === "written" ? "steps.writes" : `steps.${name}`
}

// As wide as the tokens in view need them, the bars have the rest.
function columns({ told, state }, { x, width }, from, to) {
  const number = textWidth(`${told.read.length}`, { size: SMALL }) + 10, loss = 38, counts = 42
  const rest = width - number - loss - counts
  const longest = (list) => Math.max(...list.slice(from, to).map((place) => textWidth(shown(told.tokens[place], state), { size: SIZE, mono: true, bold: true })))
  const wide = (list) => Math.min(Math.max(longest([...list]) + 10, 50), (rest - LEAST_BAR) / 2)
  const read = wide(told.read), label = wide(told.label)
  const widths = { number, read, label, probability: Math.min(rest - read - label, MOST_BAR), loss, counts }
  const placed = {}
  for (const [name, wide] of Object.entries(widths)) {
    placed[name] = { x, width: wide, anchor: ["loss", "counts"].includes(name) ? "end" : "start" }
    x += wide
  }
  return placed
}

function row(scene, one, place, at, chosen, pointed) {
  const { told, palette } = scene
  const y = place.y + place.height / 2, size = SIZE, most = (column) => at[column].width - 6
  const text = (column, written) => ({ type: "text", x: at[column].x + at[column].width, y, text: written, size: SMALL, anchor: "end", fill: palette.text })
  const track = { x: at.probability.x, y: y - 5, width: at.probability.width - NUMBER, height: 10 }
  const items = []
  if (chosen) items.push({ type: "rect", ...place, fill: palette.blocked, radius: 4, opacity: 0.7 })
  if (pointed) items.push({ type: "rect", ...place, stroke: palette.faint, radius: 4 })
  items.push(
    { type: "text", x: at.number.x + 3, y, text: `${one + 1}`, size: SMALL, fill: palette.faint, bold: chosen },
    token(scene, told.read[one], { x: at.read.x, y, most: most("read"), size }),
    token(scene, told.label[one], { x: at.label.x, y, most: most("label"), size, bold: chosen }),
    ...bar(told.probability[one], track, palette, chosen),
    { type: "text", x: track.x + track.width + 5, y, text: short(told.probability[one]), size: SMALL, fill: palette.text },
    text("loss", short(told.loss[one])),
    text("counts", told.counts[one] ? "✓ " : "– "),
  )
  if (one === told.guess) items.push(...dashed({ x: at.label.x - 4, y: place.y + 2, width: at.label.width - 4, height: place.height - 4 }, palette.faint))
  return items
}

function mean({ told, words, palette }, { x, y, width }) {
  const counted = [...told.loss].filter((_, one) => told.counts[one])
  if (!counted.length) return []
  const sum = counted.reduce((total, loss) => total + loss, 0)
  const text = filled(words["steps.mean_loss"], { loss: short(sum / counted.length), count: counted.length })
  return lines(text, { x, y, width }, palette.faint).items.slice(0, 1)
}

function tip({ told, words }, one) {
  const counts = one === told.guess ? "steps.counts.guess" : told.counts[one] ? "steps.counts.yes" : "steps.counts.no"
  return [
    [filled(words["steps.step"], { step: one + 1, count: told.read.length }), ""],
    [words["steps.read"], told.tokens[told.read[one]]],
    [words[one === told.guess ? "steps.guess" : heading("label", told)], told.tokens[told.label[one]]],
    [words["steps.probability"], exact(told.probability[one])],
    [words["steps.nats"], exact(told.loss[one])],
    [words["steps.rank"], `${told.rank[one]}`],
    [words["steps.counts"], words[counts]],
  ]
}

function warning(scene, box) {
  const { words, palette } = scene
  const text = nothing(words["steps.forgotten"], { ...box, y: box.y + TITLE + 6 }, scene)
  return { items: [title(words["steps.forgotten.title"], box, palette.text), ...text.items], at: () => null }
}
