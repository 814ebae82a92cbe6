// The formula of each step, and how a formula is drawn: _ lowers and ^ raises the next character, or what {} holds.

import { textWidth } from "../draw.js"

const NORM = "(x − mean) / √(var + ε) · γ + β"
const FORMULAS = {
  ids: () => "text → id",
  embedding: () => "x = table[id]",
  scaled: () => "x · √E",
  positions: () => "x + p",
  input: ({ layer }) => `x = layer ${layer}`,
  self_attention: ({ pre }) => (pre ? "x + SelfAttention(norm(x))" : "norm(x + SelfAttention(x))"),
  cross_attention: ({ pre }) => (pre ? "x + CrossAttention(norm(x), memory)" : "norm(x + CrossAttention(x, memory))"),
  norm: () => NORM,
  memory: () => NORM,
  projection: ({ tensor, cross }) => `${tensor} = ${cross && tensor !== "q" ? "memory" : "x"} · W_${tensor}^T + b_${tensor}`,
  heads: ({ tensor, heads }) => `${tensor} = [ ${parts(tensor, heads)} ]`,
  scores: ({ head }) => `q_${head} · k_${head}^T / √D`,
  mask: ({ head }) => `q_${head} · k_${head}^T / √D + mask`,
  softmax: ({ head }) => `softmax(q_${head} · k_${head}^T / √D + mask)`,
  values: ({ head }) => `z_${head} = softmax(…) · v_${head}`,
  joined: ({ heads }) => `z = [ ${parts("z", heads)} ]`,
  out: () => "z · W_o^T + b_o",
  add: ({ pre }) => (pre ? "x + Attention(norm(x))" : "x + Attention(x)"),
  ff_norm: () => NORM,
  linear1: () => "h = x · W_1^T + b_1",
  activation: ({ activation }) => (activation === "relu" ? "max(0, h)" : `${activation}(h)`),
  linear2: () => "h · W_2^T + b_2",
  ff_add: ({ pre }) => (pre ? "x + FeedForward(norm(x))" : "x + FeedForward(x)"),
  final_norm: () => NORM,
  logits: () => "x · W^T + b",
}

export function formulaOf(name, gaps) {
  return FORMULAS[name](gaps)
}

function parts(name, heads) {
  return heads < 4 ? Array.from({ length: heads }, (_, i) => `${name}_${i + 1}`).join(" | ") : `${name}_1 | ${name}_2 | … | ${name}_{${heads}}`
}

const SMALLER = 0.68

// A formula as items, as large as fits; its middle at y.
export function formula(text, { x, y, width, size, fill }) {
  const spans = spansOf(text)
  const wide = (scale) => spans.reduce((sum, span) => sum + textWidth(span.text, styled(span, size * scale)), 0)
  const scale = Math.min(1, width / wide(1))
  let right = x
  return spans.map((span) => {
    const style = styled(span, size * scale)
    const item = { type: "text", x: right, y: y + span.shift * size * scale * 0.32, text: span.text, fill, ...style }
    right += textWidth(span.text, style)
    return item
  })
}

function styled({ shift }, size) {
  return { size: shift ? size * SMALLER : size }
}

function spansOf(text) {
  const spans = []
  for (const [, sign, group, one, plain] of text.matchAll(/([_^])(?:\{([^}]*)\}|(.))|([^_^]+)/gu)) {
    spans.push(plain === undefined ? { text: group ?? one, shift: sign === "_" ? 1 : -1 } : { text: plain, shift: 0 })
  }
  return spans
}
