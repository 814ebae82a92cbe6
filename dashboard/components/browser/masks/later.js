// What takes longer than a picture can wait for: one question is on its way at a time, then the one that is wanted by then.

export class Later {
  // come: called when an answer has come; what is still wanted is asked for again. fail: called with an error.
  constructor(come, fail) {
    Object.assign(this, { come, fail, asking: false })
  }

  // The answer; null as long as it is on its way.
  of(numbers, what, asked) {
    const here = numbers.here(what, asked) ?? null
    if (here === null && !this.asking) this.ask(numbers, what, asked)
    return here
  }

  async ask(numbers, what, asked) {
    this.asking = true
    try {
      await numbers.get(what, asked)
    } catch (error) {
      return this.fail(error)
    } finally {
      this.asking = false
    }
    this.come()
  }
}
