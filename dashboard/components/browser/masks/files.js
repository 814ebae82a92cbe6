// A mask from outside, pasted or as a file, and one to take along: CSV, NPY, or the lines of Python that make it.

import { button, element, panel } from "../controls.js"
import { filled } from "../words.js"
import { findings } from "./findings.js"

export class Files {
  // most: bytes of a file. ask: (what, more) -> what the server answers. use: called with a mask, its cells row by row.
  constructor(words, most, ask, use) {
    Object.assign(this, { words, most, ask, use })
    this.typed = element("textarea", { rows: 4, cols: 44, ariaLabel: words["masks.paste"], placeholder: words["masks.paste"] })
    this.file = element("input", { type: "file", accept: ".csv,.txt,.tsv,.npy", ariaLabel: words["masks.file"], hidden: true })
    this.file.onchange = () => this.upload()
    this.answer = element("div", { className: "answer" })
    this.code = element("pre", {})
    this.element = panel(words["masks.files"],
      element("span", { className: "caption", text: words["masks.in"] }),
      this.typed,
      element("div", { className: "control buttons" },
        button(words["masks.use.pasted"], () => this.read(new TextEncoder().encode(this.typed.value))),
        button(words["masks.use.file"], () => this.file.click())),
      this.file, this.answer,
      element("span", { className: "caption", text: words["masks.out"] }),
      element("div", { className: "control buttons" }, ...["csv", "npy"].map((format) => button(format.toUpperCase(), () => this.save(format)))),
      this.code)
  }

  async upload() {
    const [file] = this.file.files
    this.file.value = ""
    if (!file) return
    this.read(file.size > this.most ? { length: file.size } : new Uint8Array(await file.arrayBuffer()))
  }

  async read(bytes) {
    if (bytes.length > this.most) return this.say(filled(this.words["masks.too_large"], { limit: this.most.toLocaleString("en") }))
    const answer = await this.asked("uploaded", { content: Array.from(bytes, (byte) => String.fromCharCode(byte)).join("") })
    if (answer.error) return this.say(answer.error)
    const gaps = { shape: answer.shape?.join(" × "), wanted: answer.wanted?.join(" × "), dtype: answer.dtype }
    const says = element("p", { text: filled(this.words[answer.mask ? "masks.read" : "masks.unfit"], gaps) })
    const other = answer.findings.filter(({ name }) => name !== "shape")  // the shape was said
    this.answer.replaceChildren(says, ...(answer.mask || other.length ? findings(other, this.words) : []))
    if (answer.mask) this.answer.append(button(this.words["masks.use"], () => this.use(answer.mask)))
  }

  say(text) {
    this.answer.replaceChildren(element("p", { className: "wrong", text }))
  }

  async save(format) {
    const { content, error } = await this.asked("file", { format })
    if (error) return this.say(error)
    const link = element("a", { href: URL.createObjectURL(new Blob([Uint8Array.from(content)])), download: `mask.${format}` })
    link.click()
    setTimeout(() => URL.revokeObjectURL(link.href))
  }

  async asked(what, more) {
    try {
      return await this.ask(what, more)
    } catch (error) {
      console.warn(error)
      return { error: this.words["explorer.failed"] }
    }
  }

  // code: what makes the mask that is shown. size: its rows and columns; an answer about another size is gone.
  show(code, size) {
    this.code.textContent = code
    if (this.size !== String(size)) this.answer.replaceChildren()
    this.size = String(size)
  }
}
