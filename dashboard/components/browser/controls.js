// Controls: each is built once, shows a state, and says what a viewer changed. Names come from Python, as text.

export function element(tag, { text, ...attributes } = {}, ...children) {
  const made = document.createElement(tag)
  if (text !== undefined) made.textContent = text
  for (const [name, value] of Object.entries(attributes)) {
    if (name in made) made[name] = value
    else made.setAttribute(name, value)
  }
  made.append(...children)
  return made
}

let groups = 0

// A row of buttons, one of them chosen. options: [value, name] each.
export function choice(label, options, change, { hideLabel = false } = {}) {
  const group = `choice${++groups}`
  const buttons = options.map(([value, name]) => {
    const input = element("input", { type: "radio", name: group, value })
    input.onchange = () => change(value)
    return element("label", {}, input, element("span", { text: name }))
  })
  const row = element("div", { className: "options", role: "radiogroup", ariaLabel: label }, ...buttons)
  const caption = element("span", { className: "caption", text: label, ariaHidden: true, hidden: hideLabel })
  return {
    element: element("div", { className: "control choice" }, caption, row),
    show: (value) => buttons.forEach((button) => { button.firstChild.checked = button.firstChild.value === String(value) }),
    // Offer some of the options.
    only: (values) => buttons.forEach((button) => { button.hidden = !values.includes(button.firstChild.value) }),
  }
}

// A slider over whole numbers; without a choice to make there is none. says: how a number is written.
export function slider(label, most, change, { least = 1, says = String } = {}) {
  const input = element("input", { type: "range", min: least, max: most, step: 1, ariaLabel: label })
  const value = element("output")
  const say = (text) => {
    value.textContent = text
    input.setAttribute("aria-valuetext", text)
  }
  input.oninput = () => {
    say(says(Number(input.value)))
    change(Number(input.value))
  }
  const caption = element("span", { className: "caption", text: label })
  const whole = element("label", { className: "control slider", hidden: most <= least }, caption, element("span", {}, input, value))
  return {
    element: whole,
    say,
    show(at, disabled = false) {
      // A browser fires no event for what is set here. Setting the same value would still end a drag in some.
      if (Number(input.value) !== at) input.value = at
      say(says(Number(input.value)))
      input.disabled = disabled
    },
    // Let it lie between other numbers.
    reach(from, to) {
      Object.assign(input, { min: from, max: to })
      whole.hidden = to <= from
    },
  }
}

// A slider over given numbers, the smallest first. One that lies between two of them is said as it is.
export function stops(label, numbers, change, { says = String } = {}) {
  const made = slider(label, numbers.length - 1, (at) => change(numbers[at]), { least: 0, says: (at) => says(numbers[at]) })
  const farther = (one, other, from) => Math.abs(one - from) > Math.abs(other - from)
  return {
    element: made.element,
    show(number, disabled = false) {
      made.show(numbers.reduce((best, one, at) => (farther(numbers[best], one, number) ? at : best), 0), disabled)
      made.say(says(number))
    },
  }
}

export function toggle(label, change) {
  const input = element("input", { type: "checkbox", role: "switch" })
  input.onchange = () => change(input.checked)
  return {
    element: element("label", { className: "control toggle" }, input, element("span", { text: label })),
    show: (on) => { input.checked = on },
  }
}

export function button(label, press, { sign, className = "" } = {}) {
  const made = element("button", { type: "button", className, title: label, ariaLabel: label, text: sign ?? label })
  made.onclick = press
  return made
}

// Boxes to tick, several at once. options: [value, name, colour] each.
export function several(label, options, change) {
  const boxes = options.map(([value, name, colour]) => {
    const input = element("input", { type: "checkbox", value })
    input.onchange = () => change(boxes.filter((box) => box.firstChild.checked).map((box) => Number(box.firstChild.value)))
    const made = element("label", {}, input, element("span", { text: name }))
    if (colour) made.style.setProperty("--own", colour)
    return made
  })
  const caption = element("span", { className: "caption", text: label })
  return {
    element: element("div", { className: "control several", role: "group", ariaLabel: label }, caption, element("div", { className: "options" }, ...boxes)),
    show: (values) => boxes.forEach((box) => { box.firstChild.checked = values.includes(Number(box.firstChild.value)) }),
  }
}

// What is one click away: a button with a panel under it. Escape, or a click elsewhere, closes it.
export function panel(label, ...children) {
  const details = element("details", { className: "panel" }, element("summary", { text: label }), element("div", {}, ...children))
  details.onkeydown = (event) => { if (event.key === "Escape") details.open = false }
  details.addEventListener("toggle", () => {
    const root = details.getRootNode()
    const elsewhere = (event) => {
      if (event.composedPath().includes(details)) return
      details.open = false
      document.removeEventListener("pointerdown", elsewhere, true)
    }
    if (details.open && root) document.addEventListener("pointerdown", elsewhere, true)
  })
  return details
}
