// Paints a plotly figure with Plotly.react, which keeps zoom from one figure to the next.

function loadPlotly(url) {
  window.headlightPlotly ??= new Promise((resolve, reject) => {
    const script = document.createElement("script")
    script.src = url
    script.onload = () => resolve(window.Plotly)
    script.onerror = () => reject(new Error(`${url} could not be loaded`))
    document.head.append(script)
  })
  return window.headlightPlotly
}

function showHover(tip, area, meta, point, event) {
  const { queries, keys, hover } = meta
  const row = Math.round(point.y), column = Math.round(point.x)
  const lines = [[hover.query, queries[row]], [hover.key, keys[column]]]
  if (point.data.name === "blocked") {
    lines.push([hover.blocked, ""])
  } else {
    lines.push([hover.weight, point.z.toFixed(4)])
    lines.push([hover.score, point.customdata.toFixed(3)])
  }
  tip.replaceChildren(...lines.map(([name, value]) => {
    const line = document.createElement("div")
    const label = document.createElement("span")
    label.textContent = name
    const content = document.createElement("b")
    content.textContent = value
    line.append(label, content)
    return line
  }))
  tip.hidden = false
  const box = area.getBoundingClientRect()
  const left = event.clientX - box.left + 14, top = event.clientY - box.top + 14
  tip.style.left = `${Math.max(0, Math.min(left, box.width - tip.offsetWidth))}px`
  tip.style.top = `${top + tip.offsetHeight > box.height ? top - tip.offsetHeight - 28 : top}px`
}

function prepare(area) {
  const graph = area.querySelector(".headlight-figure"), tip = area.querySelector(".headlight-hover")
  graph.on("plotly_hover", ({ points, event }) => {
    const point = points.find((one) => one.data.type === "heatmap" && one.z !== undefined && !Number.isNaN(one.z))
    if (point) showHover(tip, area, graph.layout.meta, point, event)
  })
  graph.on("plotly_unhover", () => { tip.hidden = true })
  const observer = new ResizeObserver(() => { if (area.clientWidth) window.Plotly.Plots.resize(graph) })
  observer.observe(area)
  return () => {
    observer.disconnect()
    window.Plotly.purge(graph)
  }
}

const cleanups = new WeakMap()
const darkness = window.matchMedia("(prefers-color-scheme: dark)")

export default function ({ data, parentElement, setTriggerValue }) {
  const area = parentElement.querySelector(".headlight-area")
  const graph = area.querySelector(".headlight-figure")
  const { plotly, traces, layout, config, name } = unpack(data)
  graph.setAttribute("aria-label", name)
  // Colours are chosen in Python: ask it again when the viewer's system turns to light or dark.
  darkness.onchange = () => setTriggerValue("theme", darkness.matches)
  loadPlotly(plotly)
    .then((Plotly) => Plotly.react(graph, traces, layout, config))
    .then(() => {
      if (!cleanups.has(area)) cleanups.set(area, prepare(area))
      graph.dataset.shown = name
    })
    .catch((error) => { graph.textContent = error.message })
  return () => {
    darkness.onchange = null
    cleanups.get(area)?.()
    cleanups.delete(area)
  }
}
