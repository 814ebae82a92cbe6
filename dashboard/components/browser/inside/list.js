// All steps, one under another, each with what it makes as a small picture.

import { signedPixels } from "../colour.js"
import { element } from "../controls.js"

export class StepList {
  constructor(choose) {
    this.choose = choose
    this.element = element("nav", { className: "way" })
  }

  show(way, at, palette, words) {
    if (this.way !== way || this.words !== words || this.palette !== palette) this.build(way, palette, words)
    Object.assign(this, { way, words, palette })
    for (const [name, row] of this.rows) row.ariaCurrent = name === at ? "step" : null
    this.rows.get(at)?.scrollIntoView({ block: "nearest" })
  }

  build(way, palette, words) {
    this.element.ariaLabel = words["inside.steps"]
    this.element.replaceChildren()
    this.rows = new Map()
    let part = null
    for (const step of way.steps) {
      if (step.part !== part) this.element.append(element("span", { className: "caption", text: words[`inside.part.${step.part}`] }))
      part = step.part
      const small = step.tensors.map((one) => thumbnail(one, palette))
      const row = element("button", { type: "button" }, element("span", { className: "small" }, ...small), element("span", { text: words[`inside.step.${step.name}`] }))
      row.onclick = () => this.choose(step.name)
      this.rows.set(step.name, row)
      this.element.append(row)
    }
  }
}

function thumbnail({ small, most, columns: letter }, palette) {
  const [rows, columns] = small.size
  const canvas = element("canvas", { width: columns, height: rows, ariaHidden: true })
  const pixels = signedPixels(small.cells, letter ? most : Infinity, palette)
  canvas.getContext("2d").putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), columns, rows), 0, 0)
  return canvas
}
