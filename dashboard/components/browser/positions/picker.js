// Which dimensions are drawn: a button each in its curve's colour, one of which the slider moves.

import { button, element, slider } from "../controls.js"
import { cssColour } from "../line_colours.js"
import { another, isFull } from "./lab.js"
import { dimensionName } from "./names.js"

export function picker(words, change) {
  let state = null, table = null
  const chips = element("span", { className: "chips" })
  const more = button(words["positions.more"], () => {
    change({ dimensions: [...state.dimensions, another(state.dimensions, table.width)], curve: state.dimensions.length })
  }, { sign: "+" })
  const less = button(words["positions.less"], () => {
    change({ dimensions: state.dimensions.filter((_, at) => at !== state.curve), curve: Math.max(0, state.curve - 1) })
  }, { sign: "−" })
  const move = slider(words["positions.dimension"], 1, (to) => {
    change({ dimensions: state.dimensions.map((one, at) => (at === state.curve ? to : one)) })
  }, { least: 0 })
  const chip = (dimension, at) => {
    const made = button(dimensionName(dimension, words), () => change({ curve: at }), { sign: dimension })
    made.style.setProperty("--own", cssColour(at))
    made.ariaPressed = at === state.curve
    return made
  }
  const caption = element("span", { className: "caption", text: words["positions.dimensions"] })
  return [
    {
      element: element("div", { className: "control" }, caption, element("div", { className: "chips" }, chips, more, less)),
      update(now, shown) {
        [state, table] = [now, shown]
        chips.replaceChildren(...state.dimensions.map(chip))
        more.disabled = isFull(state.dimensions) || state.dimensions.length >= table.width
        less.disabled = state.dimensions.length < 2
      },
    },
    {
      element: move.element,
      update() {
        move.reach(0, table.width - 1)
        move.show(state.dimensions[state.curve])
      },
    },
  ]
}
