// Where the parts of the picture stand: two columns, or three where there is room.

import { tallest } from "./strip.js"

const GAP = 22  // pixels between columns
const BETWEEN = 14  // and between parts of one
const WIDE = 860
const CANDIDATES = { top: 40, each: 18 }  // what a list of candidates would like to have
const CHANCES = { least: 188, most: 300, share: 0.46 }

// steps, candidates, kinds: how many there are to be shown.
export function boxes(width, height, { steps, candidates, kinds }) {
  const beams = candidates ? CANDIDATES.top + CANDIDATES.each * candidates : 0
  return (width >= WIDE ? three : two)(width, height, { strip: tallest(steps), beams, kinds })
}

function two(width, height, { strip, beams, kinds }) {
  const left = Math.round((width - GAP) * 0.53), right = { x: left + GAP, width: width - GAP - left }
  const room = beams ? height - BETWEEN - Math.min(beams, height * 0.42) : height
  const [upper, lower] = split({ x: 0, y: 0, width: left, height }, Math.min(strip, room))
  const [chances, rows] = split({ ...right, y: 0, height }, clamp(height * CHANCES.share, CHANCES))
  return { strip: upper, beams: lower, chances, rows: shared(rows, kinds) }
}

function three(width, height, { kinds }) {
  const [first, second, third] = [0.35, 0.28, 0.37].map((share) => Math.round((width - 2 * GAP) * share))
  const [chances, beams] = split({ x: first + GAP, y: 0, width: second, height }, clamp(height * CHANCES.share, CHANCES))
  return {
    strip: { x: 0, y: 0, width: first, height },
    chances,
    beams,
    rows: shared({ x: first + second + 2 * GAP, y: 0, width: third, height }, kinds),
  }
}

function clamp(number, { least, most }) {
  return Math.max(least, Math.min(most, number))
}

// The upper part of a box, so high, and what is left below it.
function split(box, height) {
  const above = height + BETWEEN
  return [{ ...box, height }, { ...box, y: box.y + above, height: box.height - above }]
}

function shared(box, count) {
  const height = (box.height - BETWEEN * (count - 1)) / count
  return Array.from({ length: count }, (_, place) => ({ ...box, y: box.y + place * (height + BETWEEN), height }))
}
