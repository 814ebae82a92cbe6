// A canvas that shows one picture: painted sharp on every screen, with what is under the pointer, and zoom.

import { element } from "./controls.js"
import { paint, svg } from "./draw.js"

const ZOOM_STEP = 1.25
const SMALLEST_WINDOW = 4  // cells
const STROKE_STEP = 4  // pixels between two places that a quick stroke touches

export class Stage {
  // change: called with what a click selects. redraw: called when the pointer or the zoom wants another picture.
  constructor(change, redraw) {
    this.change = change
    this.redraw = redraw
    this.canvas = element("canvas", { role: "img", tabIndex: -1 })
    this.tip = element("div", { className: "tip", hidden: true })
    this.element = element("div", { className: "stage" }, this.canvas, this.tip)
    this.picture = null
    this.hovered = null
    this.zoom = null
    this.observer = new ResizeObserver(() => redraw())
    this.observer.observe(this.element)
    this.canvas.onpointermove = (event) => this.point(event)
    this.canvas.onpointerleave = () => this.leave()
    this.canvas.onclick = (event) => this.click(event)
    this.canvas.onpointerdown = (event) => this.grab(event)
    this.canvas.ondblclick = () => this.show(null)
    this.canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false })
  }

  get size() {
    return { width: this.element.clientWidth, height: this.element.clientHeight }
  }

  paint(picture, name) {
    const { width, height } = this.size, ratio = window.devicePixelRatio || 1
    this.picture = picture
    if (this.canvas.width !== Math.round(width * ratio)) this.canvas.width = Math.round(width * ratio)
    if (this.canvas.height !== Math.round(height * ratio)) this.canvas.height = Math.round(height * ratio)
    const context = this.canvas.getContext("2d")
    context.setTransform(ratio, 0, 0, ratio, 0, 0)
    context.clearRect(0, 0, width, height)
    paint(context, picture.items)
    this.canvas.style.cursor = picture.seen && this.zoom ? "grab" : ""
    this.canvas.setAttribute("aria-label", name)
    if (this.pointer && !this.tip.hidden) this.say(this.target(this.pointer), this.pointer)  // what moved under it
  }

  async save(name, background) {
    const { width, height } = this.size
    const file = new Blob([await svg(this.picture.items, width, height, background)], { type: "image/svg+xml" })
    const link = element("a", { href: URL.createObjectURL(file), download: `${name}.svg` })
    link.click()
    setTimeout(() => URL.revokeObjectURL(link.href))
  }

  target(event) {
    const box = this.canvas.getBoundingClientRect()
    return this.picture?.at?.(event.clientX - box.left, event.clientY - box.top) ?? null
  }

  point(event) {
    if (this.grabbed) return
    this.pointer = event
    const target = this.target(event)
    const hovered = target?.hovered ?? null
    if (!same(hovered, this.hovered)) {
      this.hovered = hovered
      this.redraw()
    }
    this.canvas.style.cursor = target?.select ? "pointer" : this.zoom ? "grab" : ""
    this.say(target, event)
  }

  say(target, event) {
    this.tip.hidden = !target?.tip
    if (!target?.tip) return
    this.tip.replaceChildren(...target.tip.map(([name, value]) =>
      element("div", {}, element("span", { text: name }), element("b", { text: value }))))
    const box = this.element.getBoundingClientRect()
    const left = event.clientX - box.left + 14, top = event.clientY - box.top + 14
    this.tip.style.left = `${Math.max(0, Math.min(left, box.width - this.tip.offsetWidth))}px`
    this.tip.style.top = `${top + this.tip.offsetHeight > box.height ? Math.max(0, top - this.tip.offsetHeight - 28) : top}px`
  }

  leave() {
    this.tip.hidden = true
    if (!this.hovered) return
    this.hovered = null
    this.redraw()
  }

  click(event) {
    if (this.moved) return
    const target = this.target(event)
    if (target?.select) this.change(target.select)
  }

  // Dragging paints where a picture can be painted in, and moves what is zoomed into elsewhere.
  grab(event) {
    this.moved = false
    if (this.picture?.stroke && event.button === 0) return this.stroke(event)
    if (!this.zoom || event.button !== 0) return
    const start = { x: event.clientX, y: event.clientY, zoom: this.zoom }
    const { plot } = this.picture
    this.follow(event, ({ clientX, clientY }) => {
      if (Math.hypot(clientX - start.x, clientY - start.y) < 4 && !this.moved) return
      this.moved = true
      const by = (from, [first, last], length) => ((from) * (last - first)) / length
      this.show({
        rows: start.zoom.rows.map((edge) => edge + by(start.y - clientY, start.zoom.rows, plot.height)),
        columns: start.zoom.columns.map((edge) => edge + by(start.x - clientX, start.zoom.columns, plot.width)),
      })
    })
  }

  stroke(event) {
    let last = event, begun = false
    const touch = (at) => {
      const target = this.target(at)
      if (target) this.picture.stroke(target, !begun)
      begun ||= Boolean(target)
    }
    this.tip.hidden = true
    touch(event)
    this.follow(event, (moved) => {
      const parts = Math.ceil(Math.hypot(moved.clientX - last.clientX, moved.clientY - last.clientY) / STROKE_STEP)
      for (let part = 1; part <= parts; part++) {
        const between = (name) => last[name] + ((moved[name] - last[name]) * part) / parts
        touch({ clientX: between("clientX"), clientY: between("clientY") })
      }
      last = moved
    })
  }

  // Say where the pointer goes until it is let go.
  follow(event, move) {
    this.grabbed = true
    this.canvas.setPointerCapture(event.pointerId)
    this.canvas.onpointermove = move
    this.canvas.onpointerup = this.canvas.onpointercancel = () => {
      this.grabbed = false
      this.canvas.onpointermove = (moved) => this.point(moved)
      this.canvas.onpointerup = this.canvas.onpointercancel = null
    }
  }

  wheel(event) {
    if (!this.picture?.seen) return
    event.preventDefault()
    const box = this.canvas.getBoundingClientRect(), { plot } = this.picture
    const at = { x: (event.clientX - box.left - plot.x) / plot.width, y: (event.clientY - box.top - plot.y) / plot.height }
    if (at.x < 0 || at.x > 1 || at.y < 0 || at.y > 1) return
    this.scale(event.deltaY < 0 ? 1 / ZOOM_STEP : ZOOM_STEP, at)
  }

  // Show more (by above 1) or less around a place, whose x and y are shares of the plot.
  scale(by, at = { x: 0.5, y: 0.5 }) {
    if (!this.picture?.seen) return
    const around = ([from, to], share) => {
      const middle = from + (to - from) * share, length = Math.max(SMALLEST_WINDOW, (to - from) * by)
      return [middle - length * share, middle + length * (1 - share)]
    }
    const { rows, columns } = this.picture.seen
    this.show({ rows: around(rows, at.y), columns: around(columns, at.x) })
  }

  // Set the zoom, kept within the picture; null for all of it.
  show(zoom) {
    const whole = this.picture?.whole
    if (zoom && whole) {
      zoom = { rows: within(zoom.rows, whole.rows), columns: within(zoom.columns, whole.columns) }
      if (covers(zoom.rows, whole.rows) && covers(zoom.columns, whole.columns)) zoom = null
    }
    if (!zoom && !this.zoom) return
    this.zoom = zoom
    this.redraw()
  }

  close() {
    this.observer.disconnect()
  }
}

function within([from, to], length) {
  const wide = Math.min(to - from, length)
  const start = Math.min(Math.max(0, from), length - wide)
  return [start, start + wide]
}

function covers([from, to], length) {
  return from <= 0 && to >= length
}

function same(one, other) {
  if (one === other) return true
  if (!one || !other) return false
  return Object.keys(one).every((key) => typeof one[key] === "object" || one[key] === other[key])
}
