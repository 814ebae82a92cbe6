// Colours that tell lines apart: with normal sight and without red, green or blue cones, on light and on dark ground.
// They were searched for: text in them is readable (4.5 to 1), and the two most alike are as far apart as can be.

import { luminance, channels } from "./colour.js"

const COLOURS = {
  light: ["#4d66cc", "#660000", "#4d0066", "#996600", "#9900ff", "#b33380", "#cc1a4d", "#000099"],
  dark: ["#cc00ff", "#00ffb3", "#ffe600", "#009999", "#ff4d00", "#ff99ff", "#cc664d", "#b3ff80"],
}
const { length } = COLOURS.light

// How the lines of a number (of a head, say) are drawn; after the last colour they begin anew, dashed.
export function lineOf(number, palette) {
  if (number === "mean") return { stroke: palette.text }
  const theme = luminance(channels(palette.background)) > 0.5 ? "light" : "dark"
  return { stroke: COLOURS[theme][number % length], ...(number >= length && { dash: [6, 3] }) }
}

// The same for CSS, which knows by itself whether it is dark.
export function cssColour(number) {
  return `light-dark(${COLOURS.light[number % length]}, ${COLOURS.dark[number % length]})`
}
