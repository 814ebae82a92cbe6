// What was done, to be undone and done again.

const MOST = 100

export class History {
  constructor() {
    this.past = []
    this.future = []
  }

  // Remember what stood before a change; once for a gesture of many changes, as that of a slider.
  note(edits, gesture = null) {
    this.future = []
    if (gesture && gesture === this.gesture) return
    this.gesture = gesture
    this.past.push(edits)
    if (this.past.length > MOST) this.past.shift()
  }

  undo(edits) {
    return this.go(edits, this.past, this.future)
  }

  redo(edits) {
    return this.go(edits, this.future, this.past)
  }

  go(edits, from, to) {
    this.gesture = null
    if (!from.length) return edits
    to.push(edits)
    return from.pop()
  }
}
