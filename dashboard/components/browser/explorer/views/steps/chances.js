// What the model held likely at one step: the likeliest tokens, where the label stands among them, how unsure it was.

import { textWidth } from "../../../draw.js"
import { filled, shown } from "../../../words.js"
import { bar, exact, inside, lines, MARK, short, SIZE, SMALL, title, TITLE, token } from "./pieces.js"

const LINE = 18, TOP = TITLE + LINE
const PITCH = { least: 11, most: 21 }
const NUMBER = 40

export function chances(scene, box) {
  const { told, step, state, words, palette, hovered } = scene
  const list = listed(told, step)
  const unsure = filled(words["steps.entropy"], { entropy: short(told.entropy[step]), choices: among(told.entropy[step]) })
  const foot = lines(unsure, { x: box.x, y: 0, width: box.width }, palette.faint)
  const pitch = Math.max(PITCH.least, Math.min(PITCH.most, (box.height - TOP - foot.height - 4) / list.length))
  const size = Math.min(SIZE, pitch - 1)
  const names = Math.min(box.width * 0.4, Math.max(...list.map(({ place }) => textWidth(shown(told.tokens[place], state), { size, mono: true, bold: true }))) + 16)
  const y = (place) => box.y + TOP + (place + 0.5) * pitch
  const track = { x: box.x + names + 8, width: box.width - names - 8 - NUMBER, height: Math.max(6, pitch - 7) }
  const items = [title(filled(words["steps.step"], { step: step + 1, count: told.read.length }), box, palette.text)]
  items.push({ type: "text", x: box.x, y: box.y + TITLE + LINE / 2 - 2, text: standing(scene), size: SMALL, fill: palette.faint })
  list.forEach(({ place, chance }, at) => {
    const label = place === told.label[step], pointed = hovered?.part === "chances" && hovered.row === at
    items.push(token(scene, place, { x: box.x + names, y: y(at), most: names - 14, size, anchor: "end", bold: label }))
    if (label) items.push({ type: "text", x: box.x, y: y(at), text: MARK, size, fill: palette.text })
    items.push(...bar(chance, { ...track, y: y(at) - track.height / 2 }, palette, label || pointed))
    items.push({ type: "text", x: box.x + box.width, y: y(at), text: short(chance), size: Math.min(SMALL, size), anchor: "end", fill: palette.text, bold: label })
  })
  const below = box.y + TOP + list.length * pitch + 4
  items.push(...foot.items.map((item) => ({ ...item, y: item.y + below })))
  return {
    items,
    at(x, y) {
      if (!inside({ ...box, y: box.y + TOP, height: list.length * pitch }, { x, y })) return null
      const row = Math.min(list.length - 1, Math.floor((y - box.y - TOP) / pitch)), { place, chance } = list[row]
      const tip = [[words[place === told.label[step] ? labelName(told, step) : "steps.token"], told.tokens[place]], [words["steps.probability"], exact(chance)]]
      return { hovered: { part: "chances", row }, tip }
    },
  }
}

// The likeliest tokens; the label after them where it is not among them.
function listed(told, step) {
  const kept = told.likeliest.length / told.read.length
  const list = Array.from({ length: kept }, (_, row) => ({ place: told.likeliest[step * kept + row], chance: told.chances[step * kept + row] }))
  const label = told.label[step]
  return list.some(({ place }) => place === label) ? list : [...list, { place: label, chance: told.probability[step] }]
}

function standing({ told, step, words }) {
  return filled(words["steps.standing"], { what: `${MARK} ${words[labelName(told, step)]}`, rank: told.rank[step], loss: short(told.loss[step]) })
}

function labelName(told, step) {
  return step === told.guess ? "steps.guess" : "steps.label"
}

// As many equally likely tokens would leave one as unsure.
function among(entropy) {
  const choices = Math.exp(entropy)
  return choices < 10 ? choices.toFixed(1) : Math.round(choices).toString()
}
