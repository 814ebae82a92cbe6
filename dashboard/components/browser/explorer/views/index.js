// The views of one run, in the order of their buttons.
//
// A view says which heads it is drawn from (requests) and makes a picture of their numbers, the state and the size: a
// pure function. A picture is a list of items (draw.js paints it on canvas and writes it as SVG) and says what lies at a
// place: what to write beside the pointer, and what a click changes in the state. The state is one for all views and
// stands in the address (selection.py); the numbers are those of the table (numbers.py); the sentence under a picture
// says what is to be seen (captions.py). Every view has these four faces and keeps nothing of its own.

import { far } from "./far.js"
import { heads } from "./heads.js"
import { heat } from "./heat.js"
import { lines } from "./lines.js"
import { steps } from "./steps.js"
import { table } from "./table.js"
import { text } from "./text.js"
import { three } from "./three.js"

export { far }
export const VIEWS = { heat, heads, lines, text, three, steps, table }
