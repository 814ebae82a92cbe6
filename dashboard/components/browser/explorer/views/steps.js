// Decoding, step by step: what was read and predicted and how likely it was, and where every head looked meanwhile.

import { player } from "../../player.js"
import { filled } from "../../words.js"
import { beams } from "./steps/beams.js"
import { chances } from "./steps/chances.js"
import { boxes } from "./steps/layout.js"
import { rows, unseen } from "./steps/rows.js"
import { strip } from "./steps/strip.js"

const KINDS = ["cross", "decoder"]  // what a step of decoding looks at, from the top down

export const steps = {
  steps: true,

  // The selected head first: the sentence under the picture is about it.
  requests(state, run) {
    const selected = { kind: state.kind, layer: state.layer, head: state.head }
    const others = kindsOf(run).filter((kind) => !run.kind(kind).long).flatMap((kind) => {
      const layer = layerOf(run, kind, state)
      return Array.from({ length: run.kind(kind).heads[layer] }, (_, head) => ({ kind, layer, head }))
    })
    return [selected, ...others.filter((one) => !same(one, selected))]
  },

  picture({ heads, steps: told, state, run, palettes, width, height, words, hovered }) {
    const scene = { told, state, run, words, palettes, hovered, palette: palettes[state.kind], step: Math.min(state.step, run.steps - 1) }
    const asked = steps.requests(state, run).map((one, place) => ({ ...one, numbers: heads[place] }))
    const found = told.beams[scene.step] ?? []
    const room = boxes(width, height, { steps: run.steps, candidates: found.length, kinds: kindsOf(run).length })
    const parts = [
      strip(scene, room.strip),
      chances(scene, room.chances),
      ...(found.length ? [beams(scene, room.beams, found)] : []),
      ...kindsOf(run).map((kind, place) => {
        const layer = layerOf(run, kind, state)
        return run.kind(kind).long ? unseen(scene, room.rows[place], kind, layer) : rows(scene, room.rows[place], headsOf(asked, kind, layer))
      }),
    ]
    return {
      items: parts.flatMap((part) => part.items),
      at: (x, y) => parts.reduce((found, part) => found ?? part.at(x, y), null),
      room,
    }
  },

  controls(run, words, change) {
    const made = player({ words, name: filled(words["steps.slider"], { count: run.steps }), go: (step) => change({ step }) })
    const update = (state) => made.show(state.step, run.steps)
    return [{ element: made.buttons, update }, { element: made.slider, update }]
  },
}

function kindsOf(run) {
  return KINDS.filter((kind) => run.kind(kind))
}

function layerOf(run, kind, state) {
  return Math.min(state.layer, run.kind(kind).heads.length - 1)
}

// Of one kind and layer, in order; where the mean is selected it comes first.
function headsOf(asked, kind, layer) {
  const place = ({ head }) => (head === "mean" ? -1 : head)
  return asked.filter((one) => one.kind === kind && one.layer === layer).sort((one, other) => place(one) - place(other))
}

function same(one, other) {
  return one.kind === other.kind && one.layer === other.layer && one.head === other.head
}
