// A step back, play or pause, a step on, and a slider: the controls of whatever happens step by step.

import { button, element, slider } from "./controls.js"

const PLAY = "▶\ufe0e", PAUSE = "❚❚"

// An element that says when it leaves the page: with its view, its run, or the page itself.
const LEAVING = "headlight-leaving"
class Leaving extends HTMLElement {
  left = null

  disconnectedCallback() {
    this.left?.()
  }
}
if (!customElements.get(LEAVING)) customElements.define(LEAVING, Leaving)  // a page may outlive a server's modules

// words: with the names of the buttons. name: of the slider. beat: milliseconds a step. go: called with a step, counted
// from 0, that is wanted.
// Returns the buttons, the slider, and show(step, count, first): where the viewer is, of how many steps, and what the
// slider calls the first one.
export function player({ words, name, beat = 1000, go }) {
  let step = 0, last = 0, first = 1, timer = null
  const to = (wanted) => go(Math.max(0, Math.min(last, wanted)))
  const play = () => {
    if (step >= last) to(0)
    timer = setInterval(next, beat)
    sign()
  }
  const pause = () => {
    clearInterval(timer)
    timer = null
    sign()
  }
  const next = () => {
    to(step + 1)
    if (step >= last) pause()
  }
  const by = (steps) => () => {
    pause()
    to(step + steps)
  }
  const sign = () => {
    start.textContent = timer === null ? PLAY : PAUSE
    start.title = start.ariaLabel = words[timer === null ? "steps.play" : "steps.pause"]
  }
  const start = button(words["steps.play"], () => (timer === null ? play() : pause()), { sign: PLAY })
  const buttons = element(LEAVING, { className: "control buttons", left: pause },
    button(words["steps.back"], by(-1), { sign: "‹" }), start, button(words["steps.on"], by(1), { sign: "›" }))
  const place = slider(name, 1, (at) => {
    pause()
    to(at - first)
  })
  return {
    buttons,
    slider: place.element,
    show(at, count, from = 1) {
      last = count - 1
      first = from
      step = Math.max(0, Math.min(at, last))
      buttons.hidden = last < 1
      place.reach(first, first + last)
      place.show(first + step)
    },
  }
}
