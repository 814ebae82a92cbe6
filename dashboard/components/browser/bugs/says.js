// What the model says, right and with the mistake: its own translation, what it predicts while it reads the target, the loss.

import { element } from "../controls.js"
import { filled } from "../words.js"

export function says(played, words) {
  return ["right", "broken"].map((side) => {
    const { written, said, loss } = played[side]
    const line = (name, text, changed) => element("p", {},
      element("span", { className: "caption", text: words[name] }), element(changed ? "b" : "span", { text, dir: "auto" }))
    const own = written && line("bugs.written", written.text ? written.text + (written.finished ? "" : "…") : words["answer.empty"],
      side === "broken" && written.text !== played.right.written.text)
    return element("div", { className: "said" },
      ...(own ? [own] : []),
      line("bugs.said", said || words["answer.empty"], side === "broken" && said !== played.right.said),
      line("bugs.loss", filled(words["bugs.nats"], { loss: loss.toFixed(2) }), side === "broken" && loss - played.right.loss > 0.05))
  })
}

// The line that is wrong, under the one that is right.
export function slip({ function: name, lines, slipped }) {
  const deep = Math.min(...lines.map((line) => line.search(/\S/)))
  const row = (sign, className, line) => element("span", { className, text: `${sign} ${line.slice(deep)}` })
  const same = lines.map((line, i) => line === slipped[i])
  const right = lines.flatMap((line, i) => (same[i] ? [] : [row("−", "gone", line)]))
  const wrong = slipped.flatMap((line, i) => (same[i] ? [] : [row("+", "come", line)]))
  return [element("span", { className: "caption", text: name }), element("pre", {}, ...right, ...wrong)]
}
