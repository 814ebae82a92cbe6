// Controls of the decoding view: a step back, play or pause, a step on, and a slider.

import { button, element, slider } from "../../../controls.js"
import { filled } from "../../../words.js"

const BEAT = 1000  // milliseconds a step
const PLAY = "▶\ufe0e", PAUSE = "❚❚"

export function player(run, words, change) {
  const last = run.steps - 1
  let step = 0, timer = null
  const go = (to) => change({ step: Math.max(0, Math.min(last, to)) })
  const play = () => {
    if (step >= last) go(0)
    timer = setInterval(beat, BEAT)
    sign()
  }
  const pause = () => {
    clearInterval(timer)
    timer = null
    sign()
  }
  // These controls leave the page with their view and with their run.
  const beat = () => {
    if (buttons.isConnected) go(step + 1)
    if (!buttons.isConnected || step >= last) pause()
  }
  const by = (steps) => () => {
    pause()
    go(step + steps)
  }
  const sign = () => {
    start.textContent = timer === null ? PLAY : PAUSE
    start.title = start.ariaLabel = words[timer === null ? "steps.play" : "steps.pause"]
  }
  const start = button(words["steps.play"], () => (timer === null ? play() : pause()), { sign: PLAY })
  const buttons = element("div", { className: "control buttons" },
    button(words["steps.back"], by(-1), { sign: "‹" }), start, button(words["steps.on"], by(1), { sign: "›" }))
  buttons.hidden = last < 1
  const place = slider(filled(words["steps.slider"], { count: run.steps }), run.steps, (at) => {
    pause()
    go(at - 1)
  })
  return [
    { element: buttons, update: (state) => { step = Math.max(0, Math.min(state.step, last)) } },
    { element: place.element, update: (state) => place.show(Math.max(0, Math.min(state.step, last)) + 1) },
  ]
}
