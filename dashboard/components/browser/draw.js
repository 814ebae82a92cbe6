// A picture is a list of plain items; it is painted on a canvas, or written as SVG, item by item.
//
// Items (numbers are pixels, colours are CSS):
//   rect  x y width height, fill, stroke, lineWidth, radius
//   line  x1 y1 x2 y2, stroke, lineWidth, dash
//   curve x1 y1 x2 y2, stroke, lineWidth, dash: from left to right, level at both ends
//   path  points ([x, y, x, y, …]), closed, stroke, lineWidth, dash, fill
//   text  x y text, size, fill, anchor (start middle end), mono, bold, angle (degrees), direction (ltr rtl)
//   cells x y width height, rows, columns, pixels (Uint32Array, row by row): squares of colour without gaps
//   group clip {x y width height}, items
// Every item may have an opacity.

export const SANS = "'Source Sans', 'Source Code Pro', 'Noto Sans CJK SC', sans-serif"  // the second for ▁
export const MONO = "'Source Code Pro', 'Noto Sans Mono CJK SC', 'Noto Sans CJK SC', monospace"

export function paint(context, items) {
  for (const item of items) {
    context.save()
    context.globalAlpha *= item.opacity ?? 1
    PAINT[item.type](context, item)
    context.restore()
  }
}

const PAINT = {
  rect(context, { x, y, width, height, fill, stroke, lineWidth = 1, radius = 0 }) {
    context.beginPath()
    context.roundRect(x, y, width, height, radius)
    if (fill) {
      context.fillStyle = fill
      context.fill()
    }
    if (stroke) strokePath(context, { stroke, lineWidth })
  },
  line(context, { x1, y1, x2, y2, ...style }) {
    context.beginPath()
    context.moveTo(x1, y1)
    context.lineTo(x2, y2)
    strokePath(context, style)
  },
  curve(context, { x1, y1, x2, y2, ...style }) {
    const middle = (x1 + x2) / 2
    context.beginPath()
    context.moveTo(x1, y1)
    context.bezierCurveTo(middle, y1, middle, y2, x2, y2)
    strokePath(context, style)
  },
  path(context, { points, closed, fill, ...style }) {
    context.beginPath()
    for (let i = 0; i < points.length; i += 2) context.lineTo(points[i], points[i + 1])
    if (closed) context.closePath()
    if (fill) {
      context.fillStyle = fill
      context.fill()
    }
    context.lineJoin = "round"
    if (style.stroke) strokePath(context, style)
  },
  text(context, { x, y, text, size, fill, anchor = "start", mono, bold, angle = 0, direction = "ltr" }) {
    context.font = font({ size, mono, bold })
    context.fillStyle = fill
    context.direction = direction
    context.textAlign = { start: "left", middle: "center", end: "right" }[anchor]
    context.textBaseline = "middle"
    context.translate(x, y)
    context.rotate((angle * Math.PI) / 180)
    context.fillText(text, 0, 0)
  },
  cells(context, item) {
    context.imageSmoothingEnabled = false
    context.drawImage(bitmap(item), item.x, item.y, item.width, item.height)
  },
  group(context, { clip, items }) {
    context.beginPath()
    context.rect(clip.x, clip.y, clip.width, clip.height)
    context.clip()
    paint(context, items)
  },
}

function strokePath(context, { stroke, lineWidth = 1, dash = [] }) {
  context.strokeStyle = stroke
  context.lineWidth = lineWidth
  context.setLineDash(dash)
  context.stroke()
}

function font({ size, mono, bold }) {
  return `${bold ? 600 : 400} ${size}px ${mono ? MONO : SANS}`
}

const bitmaps = new WeakMap()  // by their pixels, which are made once for many paintings

function bitmap({ rows, columns, pixels }) {
  if (bitmaps.has(pixels)) return bitmaps.get(pixels)
  const canvas = new OffscreenCanvas(columns, rows)
  const bytes = new Uint8ClampedArray(pixels.buffer, pixels.byteOffset, pixels.byteLength)
  canvas.getContext("2d").putImageData(new ImageData(bytes, columns, rows), 0, 0)
  bitmaps.set(pixels, canvas)
  return canvas
}

const ruler = new OffscreenCanvas(1, 1).getContext("2d")

const MOST_WIDTHS = 20_000
const measured = new Map()  // the labels of a run are the same with every movement
document.fonts.addEventListener("loadingdone", () => measured.clear())

// Fulfilled when texts are as wide as they will stay: a browser fetches a font when it is first drawn with.
export const fontsReady = Promise.allSettled(
  [false, true].flatMap((mono) => [false, true].map((bold) => document.fonts.load(font({ size: 14, mono, bold })))),
)

// How wide a text will be, in pixels.
export function textWidth(text, style) {
  const name = font(style), key = `${name} ${text}`
  if (!measured.has(key)) {
    if (measured.size > MOST_WIDTHS) measured.clear()
    ruler.font = name
    measured.set(key, ruler.measureText(text).width)
  }
  return measured.get(key)
}

// The same picture as a file: vectors, but for cells, which stand in it as a picture of their own.
export async function svg(items, width, height, background) {
  const root = element("svg", { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}` })
  root.append(element("rect", { width, height, fill: background }))
  await append(root, items)
  return new XMLSerializer().serializeToString(root)
}

async function append(parent, items) {
  for (const item of items) {
    const made = await SVG[item.type](item)
    if (item.opacity !== undefined) made.setAttribute("opacity", item.opacity)
    parent.append(made)
  }
}

let clips = 0

const SVG = {
  rect: ({ x, y, width, height, fill, stroke, lineWidth = 1, radius = 0 }) =>
    element("rect", { x, y, width, height, rx: radius, fill: fill ?? "none", stroke: stroke ?? "none", "stroke-width": lineWidth }),
  line: ({ x1, y1, x2, y2, stroke, lineWidth = 1, dash }) =>
    element("line", { x1, y1, x2, y2, stroke, "stroke-width": lineWidth, ...(dash && { "stroke-dasharray": dash.join(" ") }) }),
  curve({ x1, y1, x2, y2, stroke, lineWidth = 1, dash }) {
    const middle = (x1 + x2) / 2
    const d = `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`
    return element("path", { d, fill: "none", stroke, "stroke-width": lineWidth, ...(dash && { "stroke-dasharray": dash.join(" ") }) })
  },
  path({ points, closed, fill, stroke, lineWidth = 1, dash }) {
    const corners = Array.from({ length: points.length / 2 }, (_, i) => `${brief(points[2 * i])} ${brief(points[2 * i + 1])}`)
    const d = `M${corners.join("L")}${closed ? "Z" : ""}`
    return element("path", {
      d, fill: fill ?? "none", stroke: stroke ?? "none", "stroke-width": lineWidth, "stroke-linejoin": "round",
      ...(dash && { "stroke-dasharray": dash.join(" ") }),
    })
  },
  text({ x, y, text, size, fill, anchor = "start", mono, bold, angle = 0, direction = "ltr" }) {
    const family = mono ? MONO : SANS
    const made = element("text", {
      transform: `translate(${x} ${y}) rotate(${angle})`, fill, "font-size": size, "font-family": family,
      "font-weight": bold ? 600 : 400, "text-anchor": anchor, "dominant-baseline": "central", direction, "xml:space": "preserve",
    })
    if (direction === "rtl" && anchor !== "middle") made.setAttribute("text-anchor", anchor === "start" ? "end" : "start")
    made.textContent = text
    return made
  },
  async cells(item) {
    const { x, y, width, height } = item
    const image = element("image", { x, y, width, height, preserveAspectRatio: "none", style: "image-rendering:pixelated" })
    const blob = await bitmap(item).convertToBlob()
    image.setAttribute("href", await dataUrl(blob))
    return image
  },
  async group({ clip, items }) {
    const id = `clip${++clips}`
    const group = element("g", {}), path = element("clipPath", { id }), inner = element("g", { "clip-path": `url(#${id})` })
    path.append(element("rect", clip))
    group.append(path, inner)
    await append(inner, items)
    return group
  },
}

function brief(pixels) {
  return Math.round(pixels * 100) / 100
}

function element(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name)
  for (const [key, value] of Object.entries(attributes)) if (key !== "xmlns") made.setAttribute(key, value)
  return made
}

function dataUrl(blob) {
  return new Promise((resolve) => {
    const reader = new FileReader()
    reader.onload = () => resolve(reader.result)
    reader.readAsDataURL(blob)
  })
}
