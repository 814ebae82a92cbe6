// From numbers to colours: a scale between two colours, and what is blocked apart from it.

export function channels(hex) {
  return [1, 3, 5].map((place) => parseInt(hex.slice(place, place + 2), 16))
}

const LOWEST_LOG = -4  // a weight of 0.0001 and less has no colour on the logarithmic scale

// Where a number stands on its scale, 0 to 1.
export function share(value, { low, high }, log = false) {
  if (log) {
    const top = Math.log10(high)
    return value > 0 ? clamp((Math.log10(value) - top - LOWEST_LOG) / -LOWEST_LOG) : 0
  }
  return high > low ? clamp((value - low) / (high - low)) : 0
}

function clamp(number) {
  return Math.min(1, Math.max(0, number))
}

export function mixed(from, to, part) {
  const a = channels(from), b = channels(to)
  return `rgb(${a.map((low, i) => Math.round(low + (b[i] - low) * part)).join(" ")})`
}

const STEPS = 254

// Made once for each array of cells and way of painting it.
const made = new WeakMap()

function remembered(cells, way, make) {
  if (!made.has(cells)) made.set(cells, new Map())
  const ways = made.get(cells)
  if (!ways.has(way)) ways.set(way, make())
  return ways.get(way)
}

// A pixel for each cell, not-a-number being a blocked one.
export function pixels(cells, scale, palette, log = false, faded = null, columns = 1) {
  const way = [palette.strong, palette.background, scale.low, scale.high, log, faded].join()
  return remembered(cells, way, () => floatPixels(cells, scale, palette, log, faded, columns))
}

// The same for bytes: 0 to 254 on the scale, 255 for blocked.
export function bytePixels(cells, palette) {
  return remembered(cells, palette.strong + palette.background, () => {
    const table = scaleTable(palette), blocked = pack(channels(palette.blocked))
    return Uint32Array.from(cells, (byte) => (byte === 255 ? blocked : table[byte]))
  })
}

// The same for numbers with a sign, on a scale centred at 0 that reaches `most` on both sides.
export function signedPixels(cells, most, palette) {
  return remembered(cells, ["signed", palette.negative, palette.strong, palette.background, most].join(), () => {
    const above = scaleTable(palette), below = scaleTable({ ...palette, strong: palette.negative })
    const blocked = pack(channels(palette.blocked)), factor = most > 0 ? STEPS / most : 0
    return Uint32Array.from(cells, (value) => {
      if (value !== value) return blocked
      const step = Math.min(STEPS, Math.round(Math.abs(value) * factor))
      return value < 0 ? below[step] : above[step]
    })
  })
}

function floatPixels(cells, scale, palette, log, faded, columns) {
  const table = scaleTable(palette), blocked = pack(channels(palette.blocked))
  const painted = new Uint32Array(cells.length)
  const { low, high } = scale
  const factor = high > low ? STEPS / (high - low) : 0
  for (let i = 0; i < cells.length; i++) {
    const value = cells[i]
    if (value !== value) painted[i] = blocked
    else {
      let step = log ? STEPS * share(value, scale, true) : (value - low) * factor
      if (step > STEPS) step = STEPS
      else if (!(step > 0)) step = 0
      painted[i] = table[(step + 0.5) | 0]
    }
  }
  if (faded) fade(painted, faded, columns)
  return painted
}

// Rows that lost most of their weight to what is hidden are drawn faint.
function fade(painted, faded, columns) {
  for (const row of faded) {
    for (let i = row * columns; i < (row + 1) * columns; i++) painted[i] = (painted[i] & 0x00ffffff) | 0x55000000
  }
}

const tables = new Map()

function scaleTable({ background, strong }) {
  const name = background + strong
  if (!tables.has(name)) {
    const from = channels(background), to = channels(strong)
    tables.set(name, Uint32Array.from({ length: STEPS + 1 }, (_, i) => pack(from.map((low, c) => low + ((to[c] - low) * i) / STEPS))))
  }
  return tables.get(name)
}

function pack([red, green, blue]) {
  return (255 << 24) | (Math.round(blue) << 16) | (Math.round(green) << 8) | Math.round(red)
}

// The text colour that stands out more from a cell of this share (the contrast ratio of WCAG 2.2).
export function readable(part, palette) {
  const from = channels(palette.background), to = channels(palette.strong)
  const cell = luminance(from.map((low, i) => low + (to[i] - low) * part))
  const contrast = (text) => {
    const one = luminance(channels(text))
    return (Math.max(one, cell) + 0.05) / (Math.min(one, cell) + 0.05)
  }
  return contrast(palette.text) >= contrast(palette.on_strong) ? palette.text : palette.on_strong
}

export function luminance(colour) {
  const [red, green, blue] = colour.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4))
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
