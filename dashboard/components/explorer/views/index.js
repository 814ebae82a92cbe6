// The views of one run, in the order of their buttons.

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
