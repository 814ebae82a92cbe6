// Every head of a kind as a small picture; a click (or Enter) selects one.

function channels(hex) {
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16))
}

// One opaque pixel for each byte a cell can have: 0 to 254 between two colours, 255 for blocked.
function pixels({ background, strong, blocked }) {
  const from = channels(background), to = channels(strong)
  const bytes = new Uint8ClampedArray(256 * 4).fill(255)
  for (let i = 0; i < 255; i++) bytes.set(from.map((low, c) => low + ((to[c] - low) * i) / 254), i * 4)
  bytes.set(channels(blocked), 255 * 4)
  return new Uint32Array(bytes.buffer)
}

function paint(canvas, cells, rows, columns, table) {
  canvas.width = columns
  canvas.height = rows
  const context = canvas.getContext("2d")
  const image = context.createImageData(columns, rows)
  const painted = new Uint32Array(image.data.buffer)
  for (let i = 0; i < cells.length; i++) painted[i] = table[cells[i]]
  context.putImageData(image, 0, 0)
}

function edge(number) {
  const element = document.createElement("span")
  element.textContent = number
  element.setAttribute("aria-hidden", "true")
  return element
}

// Heads are numbered along the top, layers down the side.
function build(grid, layers, heads) {
  grid.style.gridTemplateColumns = `auto repeat(${heads}, minmax(0, 1fr))`
  grid.replaceChildren(edge(""), ...Array.from({ length: heads }, (_, head) => edge(head + 1)))
  for (let layer = 0; layer < layers; layer++) {
    grid.append(edge(layer + 1))
    for (let head = 0; head < heads; head++) {
      const tile = document.createElement("button")
      tile.type = "button"
      tile.append(document.createElement("canvas"))
      grid.append(tile)
    }
  }
  grid.dataset.built = `${layers}x${heads}`
}

export default function ({ data, parentElement, setTriggerValue }) {
  const { cells, shape, selected, titles, colours, name } = unpack(data)
  const [layers, heads, rows, columns] = shape
  const grid = parentElement.querySelector(".grid")
  if (grid.dataset.built !== `${layers}x${heads}`) build(grid, layers, heads)
  grid.setAttribute("aria-label", name)
  const table = pixels(colours)
  grid.querySelectorAll("button").forEach((tile, i) => {
    const layer = Math.floor(i / heads), head = i % heads
    paint(tile.firstChild, cells.subarray(i * rows * columns, (i + 1) * rows * columns), rows, columns, table)
    tile.title = titles[i]
    tile.setAttribute("aria-label", titles[i])
    tile.setAttribute("aria-pressed", layer === selected[0] && (selected[1] === null || head === selected[1]))
    tile.style.setProperty("--selected", colours.strong)
    tile.onclick = () => setTriggerValue("head", [layer, head])
  })
  grid.dataset.shown = name
}
