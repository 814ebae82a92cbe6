// Beam search at one step: the texts that it weighed up, and what became of each.

import { textWidth } from "../../../draw.js"
import { number } from "../../../parts.js"
import { direction, filled, fitted, shown } from "../../../words.js"
import { inside, MARK, SIZE, SMALL, title, TITLE, token } from "./pieces.js"

const HEADINGS = 18, PITCH = { least: 16, most: 20 }
const SCORE = 50, FATE = 52
const NEXT = 0.3  // at most, of the width

export function beams(scene, box, candidates) {
  const { words, palette, hovered } = scene
  const room = box.height - TITLE - HEADINGS
  const fit = Math.max(1, Math.floor(room / PITCH.least))
  const shownOnes = candidates.length <= fit ? candidates : candidates.slice(0, Math.max(1, fit - 1))
  const pitch = Math.min(PITCH.most, room / Math.min(fit, candidates.length))
  const next = Math.min(box.width * NEXT, longest(scene, shownOnes) + 10), before = box.width - SCORE - FATE - next
  const at = { before: box.x + before - 6, next: box.x + before, score: box.x + before + next + SCORE - 10, fate: box.x + before + next + SCORE }
  const top = box.y + TITLE + HEADINGS
  const headed = (name, x, anchor) => ({ type: "text", x, y: top - HEADINGS / 2, text: words[`steps.beams.${name}`], size: SMALL, anchor, fill: palette.faint })
  const items = [
    title(words["steps.beams"], box, palette.text),
    headed("before", at.before, "end"), headed("next", at.next, "start"), headed("score", at.score, "end"), headed("fate", at.fate, "start"),
  ]
  shownOnes.forEach((one, place) => {
    const y = top + (place + 0.5) * pitch, size = SIZE, bold = one.answer
    const said = (x, text, anchor) => ({ type: "text", x, y, text, size: SMALL, anchor, bold, fill: one.fate === "dropped" ? palette.faint : palette.text })
    const text = tail(sofar(scene, one), before - 24, (part) => textWidth(part, { size, mono: true }))
    if (hovered?.part === "beams" && hovered.row === place) items.push({ type: "rect", ...box, y: y - pitch / 2, height: pitch, stroke: palette.faint, radius: 4 })
    if (one.answer) items.push({ type: "text", x: box.x + 3, y, text: MARK, size, fill: palette.text })
    items.push(
      { type: "text", x: at.before, y, text, size, anchor: "end", mono: true, direction: direction(text), fill: palette.faint },
      token(scene, one.token, { x: at.next, y, most: next - 6, size, bold }),
      said(at.score, number(one.score), "end"),
      said(at.fate, fitted(words[`steps.beams.${one.fate}`], FATE, (part) => textWidth(part, { size: SMALL })), "start"),
    )
  })
  const more = candidates.length - shownOnes.length
  if (more) items.push({ type: "text", x: box.x, y: top + (shownOnes.length + 0.5) * pitch, text: filled(words["steps.beams.more"], { more }), size: SMALL, fill: palette.faint })
  return {
    items,
    at(x, y) {
      const row = Math.floor((y - top) / pitch)
      if (!inside({ ...box, y: top, height: shownOnes.length * pitch }, { x, y }) || !shownOnes[row]) return null
      return { hovered: { part: "beams", row }, tip: tip(scene, shownOnes[row]) }
    },
  }
}

function longest({ told, state, words }, candidates) {
  const names = candidates.map((one) => textWidth(shown(told.tokens[one.token], state), { size: SIZE, mono: true, bold: true }))
  return Math.max(...names, textWidth(words["steps.beams.next"], { size: SMALL }))
}

function sofar({ told, state }, { before, cut }) {
  return (cut ? "…" : "") + before.map((place) => shown(told.tokens[place], state)).join("")
}

// The end of a text, the cut marked.
function tail(text, most, measure) {
  if (measure(text) <= most) return text
  const letters = [...text]
  while (letters.length && measure("…" + letters.join("")) > most) letters.shift()
  return "…" + letters.join("")
}

function tip(scene, one) {
  const { told, words } = scene
  return [
    ...(one.answer ? [[words["steps.beams.answer"], ""]] : []),
    [words["steps.beams.before"], sofar(scene, one)],
    [words["steps.beams.next"], told.tokens[one.token]],
    [words["steps.beams.score"], number(one.score, 4)],
    [words["steps.beams.fate"], words[`steps.beams.${one.fate}`]],
  ]
}
