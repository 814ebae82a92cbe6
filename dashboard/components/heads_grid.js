// Every head of a kind as a small picture; a click (or Enter) selects one.

function channels(hex) {
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16))
}

function lookUpTable({ background, strong, blocked }) {
  const from = channels(background), to = channels(strong)
  const table = Array.from({ length: 255 }, (_, i) => from.map((low, c) => low + ((to[c] - low) * i) / 254))
  table.push(channels(blocked))
  return table
}

function paint(canvas, cells, rows, columns, table) {
  canvas.width = columns
  canvas.height = rows
  const context = canvas.getContext("2d")
  const image = context.createImageData(columns, rows)
  for (let i = 0; i < cells.length; i++) {
    const [red, green, blue] = table[cells[i]]
    image.data.set([red, green, blue, 255], i * 4)
  }
  context.putImageData(image, 0, 0)
}

function build(grid, layers, heads) {
  grid.style.gridTemplateColumns = `repeat(${heads}, minmax(0, 1fr))`
  grid.replaceChildren(...Array.from({ length: layers * heads }, () => {
    const tile = document.createElement("button")
    tile.type = "button"
    tile.append(document.createElement("canvas"))
    return tile
  }))
  grid.dataset.built = `${layers}x${heads}`
}

export default function ({ data, parentElement, setTriggerValue }) {
  const { cells, shape, selected, titles, colours, name } = unpack(data)
  const [layers, heads, rows, columns] = shape
  const grid = parentElement.querySelector(".grid")
  if (grid.dataset.built !== `${layers}x${heads}`) build(grid, layers, heads)
  grid.setAttribute("aria-label", name)
  const table = lookUpTable(colours)
  ;[...grid.children].forEach((tile, i) => {
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
