// A sentence about the picture, and the target's tokens with their probabilities. All of it is text, never HTML.

function span(text, className) {
  const element = document.createElement("span")
  element.textContent = text
  if (className) element.className = className
  return element
}

export default function ({ data, parentElement }) {
  const caption = parentElement.querySelector(".caption"), tokens = parentElement.querySelector(".tokens")
  caption.style.setProperty("--strong", data.strong)
  caption.replaceChildren(...data.caption.map(([text, strong]) => span(text, strong ? "strong" : "")))
  parentElement.querySelector(".title").textContent = data.title
  tokens.replaceChildren(...data.tokens.map(([label, probability]) => {
    const token = document.createElement("div")
    token.append(span(label, "label"), span(probability.toFixed(2), "probability"))
    return token
  }))
}
