// Which heads and tokens the lines view draws, and the controls that say so.

import { button, choice, several } from "../../controls.js"
import { cssColour } from "../../line_colours.js"

const MOST = 16  // heads, and tokens, at once; Python takes no more

// The head that the slider chooses, first, and those that are ticked.
export function drawn({ head, heads }) {
  return [...new Set([head, ...heads])].slice(0, MOST)
}

export function toggled(picked, row) {
  return picked.includes(row) ? picked.filter((one) => one !== row) : [...picked, row].slice(-MOST)
}

export function linesControls(run, words, change) {
  let now
  const most = Math.max(...run.kinds.flatMap((one) => one.heads))
  const options = Array.from({ length: most }, (_, head) => [head, `${head + 1}`, cssColour(head)])
  const heads = several(words["lines.heads"], options, (ticked) => change(ticking(ticked.slice(0, MOST), now)))
  const ways = ["mean", "min", "product"].map((way) => [way, words[`lines.joint.${way}`]])
  const joint = choice(words["lines.joint"], ways, (way) => change({ joint: way }))
  const clear = button(words["lines.clear"], () => change({ picked: [] }))
  return [
    {
      element: heads.element,
      update(state) {
        now = state
        const count = run.kind(state.kind).heads[state.layer]
        heads.element.hidden = count < 2
        heads.element.querySelectorAll("label").forEach((box, head) => { box.hidden = head >= count })
        heads.show(drawn(state))
      },
    },
    {
      element: joint.element,
      update(state) {
        joint.element.hidden = state.picked.length < 2
        joint.show(state.joint)
      },
    },
    { element: clear, update: (state) => { clear.hidden = !state.picked.length } },
  ]
}

// The slider's head stays the first if it is ticked; else the first that is.
function ticking(ticked, { head }) {
  if (head === "mean") return { heads: ticked }
  return { head: ticked.includes(head) ? head : ticked[0] ?? head, heads: ticked.length > 1 ? ticked : [] }
}
