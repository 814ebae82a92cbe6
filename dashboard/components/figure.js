// Paints a plotly figure with Plotly.react, which keeps zoom from one figure to the next.

function loadPlotly(url) {
  window.headlightPlotly ??= new Promise((resolve, reject) => {
    const script = document.createElement("script")
    script.src = url
    script.onload = () => resolve(window.Plotly)
    script.onerror = () => {
      window.headlightPlotly = undefined  // the next figure tries again
      reject(new Error(`${url} could not be loaded`))
    }
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

function prepare(area, graph) {
  const tip = area.querySelector(".headlight-hover")
  graph.on("plotly_hover", ({ points, event }) => {
    const point = points.find((one) => one.data.type === "heatmap" && one.z !== undefined && !Number.isNaN(one.z))
    if (point) showHover(tip, area, graph.layout.meta, point, event)
  })
  graph.on("plotly_unhover", () => { tip.hidden = true })
  const observer = new ResizeObserver(() => { if (area.clientWidth) window.Plotly.Plots.resize(graph) })
  observer.observe(area)
  // Colours are chosen in Python: ask it again when the viewer's system turns to light or dark.
  const turned = () => area.askAgain()
  darkness.addEventListener("change", turned)
  return () => {
    observer.disconnect()
    darkness.removeEventListener("change", turned)
    window.Plotly.purge(graph)
  }
}

// Numbers that do not fit into their cells say nothing.
function hideNarrowNumbers(graph, traces) {
  const columns = traces[0].z[0].length
  const numbers = traces.find((trace) => trace.name === "numbers")
  if (numbers) numbers.visible = (graph.clientWidth - 150) / columns >= 32
}

// One figure after another: while plotly paints one, only the newest of those that come meanwhile waits.
async function paint(area, graph) {
  if (area.painting) return
  area.painting = true
  try {
    while (area.next) {
      const { plotly, traces, layout, config, name } = area.next
      area.next = null
      const Plotly = await loadPlotly(plotly)
      if (!graph.isConnected) return
      hideNarrowNumbers(graph, traces)
      await Plotly.react(graph, traces, layout, config)
      if (!cleanups.has(area)) cleanups.set(area, prepare(area, graph))
      graph.dataset.shown = name
    }
  } catch (error) {
    console.error(error)
  } finally {
    area.painting = false
  }
}

const cleanups = new WeakMap()
const darkness = window.matchMedia("(prefers-color-scheme: dark)")

export default function ({ data, parentElement, setTriggerValue }) {
  const area = parentElement.querySelector(".headlight-area")
  const graph = area.querySelector(".headlight-figure")
  area.askAgain = () => setTriggerValue("theme", darkness.matches)
  area.next = unpack(data)
  graph.setAttribute("aria-label", area.next.name)
  paint(area, graph)
  // Called between two figures too, while the element stays: only one that is gone is taken apart.
  return () => setTimeout(() => {
    if (graph.isConnected) return
    cleanups.get(area)?.()
    cleanups.delete(area)
  })
}
