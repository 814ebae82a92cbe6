// The views of the lab, in the order of their buttons. One more is one more file here, its name in View (positions.py)
// and its texts.
//
// A view says what it is drawn from (requests: [what, extra] each, for the table that is shown), makes a picture of those
// numbers (a pure function), and says in a sentence what is to be seen. lacks: the name of the text that says why a
// table cannot be shown so. origin: of the text that says where the numbers come from, where they are not those that the
// module added. about: what stands under the sentence, too. controls: its own. No view keeps anything of its own: the
// state stands in the address.

import { compare } from "./compare.js"
import { curves } from "./curves.js"
import { effect } from "./effect.js"
import { products } from "./products.js"
import { rotation } from "./rotation.js"
import { table } from "./table.js"
import { waves } from "./waves.js"

export const VIEWS = { curves, table, waves, products, rotation, compare, effect }
