// What schemes of positions do to an attention, by how far the key stands behind the query: the same axis for all.

import { axes, band, curve, inside, written } from "../../axes.js"
import { slider, toggle } from "../../controls.js"
import { filled } from "../../words.js"
import { DIGITS, offsetAxis, offsetName } from "../names.js"

const GAP = { x: 26, y: 14 }
const MOST_NAMED = 6  // heads

export const compare = {
  requests: (state) => [["position_schemes", { past: state.past }]],

  picture({ numbers: [found], state, table, palette, words, width, height, hovered }) {
    const { length } = table, at = (place) => place + 1 - length
    const panels = [added(found, table, words), rotary(found, words), alibi(found, table, words), t5(found, words)]
    const wide = (width - GAP.x) / 2, tall = (height - GAP.y) / 2
    const charts = panels.map(({ title, from, to, label, whole }, number) => axes({
      box: { x: (number % 2) * (wide + GAP.x), y: Math.floor(number / 2) * (tall + GAP.y), width: wide, height: tall },
      x: offsetAxis(table, words), y: { from: from - (to - from) * 0.05, to: to + (to - from) * 0.05, label, whole }, title, palette,
    }))
    const offset = hovered && Math.abs(hovered.offset) < length ? hovered.offset : null
    return {
      items: charts.flatMap((chart, number) => [
        ...(panels[number].masked ? [masked(chart, words, palette)] : []).flat(),
        ...chart.items,
        ...(offset === null ? [] : [{ type: "line", x1: chart.x(offset), x2: chart.x(offset), y1: chart.plot.y, y2: chart.plot.y + chart.plot.height, stroke: palette.faint }]),
        ...panels[number].draw(chart, at, palette),
      ]),
      charts: charts.map(({ plot }) => plot),
      at(x, y) {
        const chart = charts.find(({ plot }) => inside(plot, x, y))
        if (!chart) return null
        const pointed = Math.max(1 - length, Math.min(length - 1, Math.round(chart.back(x)))), place = pointed + length - 1
        const tip = panels.flatMap(({ tip }) => tip(place))
        return { hovered: { offset: pointed }, tip: [[words["positions.offset"], offsetName(pointed)], ...tip] }
      },
    }
  },

  says: ({ words }) => words["positions.says.compare"],

  about: ({ words }) => [words["positions.about.schemes"]],

  controls(words, change) {
    const heads = slider(words["positions.heads"], 1, (to) => change({ heads: to }))
    const past = toggle(words["positions.past"], (on) => change({ past: on }))
    return [
      {
        element: heads.element,
        update(state, table, { limits }) {
          heads.reach(...limits.heads)
          heads.show(table.heads, state.values !== "free")
        },
      },
      { element: past.element, update: (state) => past.show(state.past) },
    ]
  },
}

function added({ added: { mean, low, high }, sinusoidal }, { kind }, words) {
  const name = words[`positions.kind.${kind}`]
  const tip = (place) => [
    [name, written(mean[place], DIGITS)], ...(sinusoidal ? [[words["positions.kind.sinusoidal"], written(sinusoidal[place], DIGITS)]] : []),
  ]
  return {
    title: filled(words["positions.compare.added"], { kind: name }), label: words["positions.measure.cosine"],
    from: Math.min(0, ...low, ...(sinusoidal ?? [])), to: 1, tip,
    draw: (chart, at, palette) => [
      band(low, high, at, chart, palette.strong),
      ...(sinusoidal ? dashed(sinusoidal, at, chart, words, palette) : []),
      ...curve(mean, at, chart, { stroke: palette.strong, scheme: "added" }),
    ],
  }
}

// Sinusoids of the same size, beside another table.
function dashed(values, at, chart, words, palette) {
  const name = { x: chart.plot.x + chart.plot.width - 4, y: chart.plot.y - 12, anchor: "end", size: 12.5, fill: palette.faint }
  return [
    { type: "text", text: words["positions.compare.dashed"], ...name },
    ...curve(values, at, chart, { stroke: palette.faint, dash: [5, 4], scheme: "sinusoidal" }),
  ]
}

function rotary({ rotary: factor, head_width: width, base }, words) {
  return {
    title: filled(words["positions.compare.rotary"], { width, base: written(base) }), label: words["positions.compare.factor"],
    from: Math.min(0, ...factor), to: 1, tip: (place) => [[words["positions.compare.rotary.name"], `× ${written(factor[place], DIGITS)}`]],
    draw: (chart, at, palette) => curve(factor, at, chart, { stroke: palette.strong, scheme: "rotary" }),
  }
}

function alibi({ alibi: bias }, { length, heads }, words) {
  const offsets = 2 * length - 1, of = (head) => bias.slice(head * offsets, (head + 1) * offsets)
  const all = Array.from({ length: heads }, (_, head) => head), steepness = (head) => -bias[head * offsets]
  const sorted = [...all].sort((one, other) => steepness(other) - steepness(one))
  const named = heads <= MOST_NAMED ? all : [sorted[0], sorted.at(-1)]  // the steepest and the flattest of many
  const said = (head, place) => {
    const value = bias[head * offsets + place]
    const name = filled(words["positions.compare.alibi.head"], { head: head + 1 })
    return [name, Number.isFinite(value) ? written(value, DIGITS) : words["positions.compare.masked"]]
  }
  return {
    title: filled(words["positions.compare.alibi"], { heads }), label: words["positions.compare.score"],
    from: Math.min(-1e-3, ...bias.filter(Number.isFinite)), to: 0, masked: true,
    tip: (place) => named.map((head) => said(head, place)),
    draw: (chart, at, palette) => sorted.flatMap((head, rank) =>
      curve(of(head), at, chart, { stroke: palette.strong, lineWidth: 1.5, opacity: 1 - (0.7 * rank) / Math.max(1, heads - 1), scheme: "alibi", head })),
  }
}

function t5({ t5: buckets, buckets: count, max_distance: far }, words) {
  return {
    title: filled(words["positions.compare.t5"], { buckets: count, far }), label: words["positions.compare.bucket"],
    from: 0, to: count - 1, whole: true, tip: (place) => [[words["positions.compare.t5.name"], String(buckets[place])]],
    draw: (chart, at, palette) => [stairs(buckets, at, chart, palette)],
  }
}

// A level piece for each offset.
function stairs(values, at, { x, y, plot }, palette) {
  const points = []
  values.forEach((value, place) => {
    for (const edge of [-0.5, 0.5]) points.push(Math.max(plot.x, Math.min(plot.x + plot.width, x(at(place) + edge))), y(value))
  })
  return { type: "path", points, stroke: palette.strong, lineWidth: 2, scheme: "t5", values }
}

// Keys that the query may not look at.
function masked({ plot, x }, words, palette) {
  const left = x(0), width = plot.x + plot.width - left
  return [
    { type: "rect", x: left, y: plot.y, width, height: plot.height, fill: palette.blocked, opacity: 0.6 },
    { type: "text", x: left + width / 2, y: plot.y + plot.height / 2, text: words["positions.compare.masked"], anchor: "middle", size: 12.5, fill: palette.faint },
  ]
}
