// What positions do here: a head's pattern and the translation with other positions, or none.

import { choice, slider } from "../../controls.js"
import { twoSides } from "../../two_sides.js"
import { filled } from "../../words.js"

const WAYS = ["off", "shuffle", "shift", "scale"]

export const effect = {
  lacks: (table, lab, state) => (state.values === "free" ? "positions.lacks.effect.free" : lab.scene ? null : "positions.lacks.effect"),

  requests(state, table, { scene }) {
    const { kind, layer, head } = placed(state, scene), { way, amount } = state
    return [["position_effect", { scene: scene.key, kind, layer, head, way, amount: within(amount, scene.amounts[way]) }]]
  },

  picture({ numbers: [played], state, lab, width, height, palettes, words, hovered }) {
    const { kind } = placed(state, lab.scene), { queries } = lab.scene.kinds.find((one) => one.kind === kind)
    return twoSides({
      played, width, height, palette: palettes[kind], words, hovered,
      titles: { right: words["positions.effect.before"], broken: words[`positions.effect.${state.way}`] },
      queries: words[`axis.queries.${queries}.${kind === "cross" ? "predicted" : "read"}`],
    })
  },

  controls(words, change) {
    const way = choice(words["positions.way"], WAYS.map((name) => [name, words[`positions.way.${name}`]]), (name) => change({ way: name, amount: BEGIN[name] }))
    const kind = choice(words["kind"], ["encoder", "decoder", "cross"].map((name) => [name, words[`kind.${name}`]]), (name) => change({ kind: name }))
    const amount = slider(words["positions.amount"], 64, (at) => change({ amount: at }), { says: (at) => amount.says(at) })
    const layer = slider(words["positions.layer"], 2, (at) => change({ layer: at - 1 })), head = slider(words["positions.head"], 2, (at) => change({ head: at - 1 }))
    return [
      { element: way.element, update: ({ way: chosen }) => way.show(chosen) },
      {
        element: amount.element,
        update({ way: chosen, amount: at }, table, { scene }) {
          amount.says = (number) => filled(words[`positions.amount.${chosen}`], { amount: chosen === "scale" ? (number / 10).toFixed(1) : number })
          amount.reach(...(scene?.amounts[chosen] ?? [0, 0]))
          amount.show(within(at, scene?.amounts[chosen] ?? [0, 0]))
        },
      },
      {
        element: kind.element,
        update(state, table, { scene }) {
          if (!scene) return
          kind.only(scene.kinds.map((one) => one.kind))
          kind.show(placed(state, scene).kind)
        },
      },
      {
        element: layer.element,
        update(state, table, { scene }) {
          if (!scene) return
          const at = placed(state, scene)
          layer.reach(1, at.layers)
          layer.show(at.layer + 1)
        },
      },
      {
        element: head.element,
        update(state, table, { scene }) {
          if (!scene) return
          const at = placed(state, scene)
          head.reach(1, at.heads)
          head.show(at.head + 1)
        },
      },
    ]
  },

  origin: "positions.about.effect",

  says({ numbers: [{ right, broken }], words }) {
    const gaps = { before: right.loss.toFixed(2), after: broken.loss.toFixed(2) }
    const text = ({ text: own, finished }) => (own || words["answer.empty"]) + (finished ? "" : "…")
    if (!right.written) return filled(words["positions.says.effect.alone"], { ...gaps, said: broken.said, plain: right.said })
    return filled(words["positions.says.effect"], { ...gaps, right: text(right.written), broken: text(broken.written) })
  },
}

const BEGIN = { off: 0, shuffle: 1, shift: 1, scale: 5 }

const within = (amount, [least, most]) => Math.max(least, Math.min(most, amount))

// The attention that is looked at, within what the model has.
function placed({ kind: wanted, layer, head }, { kinds }) {
  const { kind, heads } = kinds.find((one) => one.kind === wanted) ?? kinds.at(-1)
  const at = Math.min(layer, heads.length - 1)
  return { kind, layer: at, layers: heads.length, head: head === "mean" ? 0 : Math.min(head, heads[at] - 1), heads: heads[at] }
}
