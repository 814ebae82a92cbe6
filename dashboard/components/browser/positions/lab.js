// What the lab may show: the tables of the run's own model, and a free one.

const MOST_CURVES = 8
const SPREAD = [0, 1 / 16, 1 / 8, 1 / 4]  // of the width: what is drawn as curves until somebody chooses

export class Lab {
  // given: { key, address, language, own: { source, target }, alone, limits }, from Python. A table of the model's own is
  // { kind, width, length, whole, base, layout, heads, tokens }, or null where the model adds no positions. scene: { key,
  // kinds: [{ kind, heads: [of each layer], queries }], amounts }, the sentence to be run anew; null where it cannot be.
  constructor(given) {
    Object.assign(this, given)
  }

  // Which values there are to choose from.
  get values() {
    return [...Object.keys(this.own), "free"]
  }

  // The table that a state is about; null where the model adds no positions.
  table({ values, width, length, base, layout, heads }) {
    if (values !== "free") return this.own[values]
    return { kind: "sinusoidal", width, length, whole: length, base, layout, heads, tokens: [] }
  }

  // What to ask the server for.
  asked(state, extra = {}) {
    const { values, width, length, base, layout, heads } = state
    return values === "free" ? { values, width, length, base, layout, heads, ...extra } : { values, ...extra }
  }

  // A state within what there is.
  fitted(state) {
    const values = this.values.includes(state.values) ? state.values : this.values[0]
    const table = this.table({ ...state, values })
    if (!table) return { ...state, values }
    const { width, length } = table
    const chosen = state.dimensions.filter((one) => one < width).slice(0, MOST_CURVES)
    const dimensions = chosen.length ? chosen : spread(table)
    const offset = between(1 - length, state.offset, length - 1)
    return {
      ...state,
      values, dimensions, offset,
      curve: Math.min(state.curve, dimensions.length - 1),
      pair: between(0, state.pair, Math.floor(width / 2) - 1),
      position: between(Math.max(0, -offset), state.position, length - 1 - Math.max(0, offset)),
    }
  }
}

// The first position of a walk in which the one at the offset stays within the table, and how many there are.
export function walk({ offset }, { length }) {
  return { first: Math.max(0, -offset), count: length - Math.abs(offset) }
}

// A dimension more, or one less where it is among them. One always stays.
export function toggled(dimensions, one) {
  if (!dimensions.includes(one)) return [...dimensions, one].slice(-MOST_CURVES)
  return dimensions.length > 1 ? dimensions.filter((other) => other !== one) : dimensions
}

export const isFull = (dimensions) => dimensions.length >= MOST_CURVES

// A dimension that is not among them, the next after the last one.
export function another(dimensions, width) {
  const free = Array.from({ length: width }, (_, i) => (dimensions.at(-1) + 1 + i) % width)
  return free.find((one) => !dimensions.includes(one))
}

function between(least, value, most) {
  return Math.max(least, Math.min(most, value))
}

// Sines, some quick and some slow.
function spread({ width, layout }) {
  const sine = (part) => (layout === "halves" ? Math.floor((part * width) / 2) : 2 * Math.floor((part * width) / 2))
  return [...new Set(SPREAD.map(sine))]
}
