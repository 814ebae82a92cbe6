// Texts with gaps, as Python fills them: {name}, {name:,} or {name:g}.

export function filled(text, gaps) {
  return text.replace(/\{(\w+)(?::[^}]*)?\}/g, (_, name) => gaps[name])
}

// A label as it is shown: with or without the sign for the space that begins a word.
export function shown(label, { spaces }) {
  return spaces || label === "▁" ? label : label.replaceAll("▁", "")
}

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/

export function direction(text) {
  return RIGHT_TO_LEFT.test(text) ? "rtl" : "ltr"
}

// A text cut to a width, the cut marked.
export function fitted(text, most, measure) {
  if (measure(text) <= most) return text
  const letters = [...text]
  while (letters.length && measure(letters.join("") + "…") > most) letters.pop()
  return letters.join("") + "…"
}
