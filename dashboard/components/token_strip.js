// A sentence about the picture, and the target's tokens with their probabilities. All of it is text, never HTML.

const FEW = 16  // tokens that stand side by side at their full size

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
  tokens.classList.toggle("many", data.tokens.length > FEW)
  tokens.replaceChildren(...data.tokens.map(([label, probability], place) => {
    const token = document.createElement("div")
    if (data.guessed && place === data.tokens.length - 1) token.className = "guess"
    token.append(span(label, "label"), span(probability.toFixed(2), "probability"))
    return token
  }))
}
