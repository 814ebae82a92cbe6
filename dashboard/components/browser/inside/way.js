// A walk through a layer, as Python's inside_numbers.py gives it: its steps, and what each reads.

const READS_SEVERAL = {  // what does not only read the step before it: [step, tensor] each
  scores: [["heads", "q"], ["heads", "k"]],
  values: [["softmax", ""], ["heads", "v"]],
}

export class Way {
  // given: { steps: [{ name, part, tensors: [{ name, rows, columns, shape, small, most }] }], sizes, tokens, norm_first, activation }
  constructor(given) {
    Object.assign(this, given)
  }

  // The step of a name. Where this walk has an attention in steps that another has as a whole, the first of them; the
  // very first where it has nothing of the kind.
  step(name) {
    return this.steps.find((one) => one.name === name) ?? this.steps.find((one) => one.part === name) ?? this.steps[0]
  }

  place(name) {
    return this.steps.findIndex((one) => one.name === this.step(name).name)
  }

  // The name of a step so many further on; null beyond the ends.
  on(name, by) {
    return this.steps[this.place(name) + by]?.name ?? null
  }

  tensor(step, name) {
    return step.tensors.find((one) => one.name === name) ?? step.tensors[0]
  }

  // The tensors that a step's tensor is made of.
  reads(step, name) {
    if (READS_SEVERAL[step.name]) return READS_SEVERAL[step.name].map(([from, tensor]) => this.tensor(this.step(from), tensor))
    const before = this.steps.slice(0, this.place(step.name)).filter((one) => one.name !== "memory" || name === "k" || name === "v")
    if (!before.length || step.name === "memory") return []
    return [this.tensor(before.at(-1), name)]
  }

  // What a letter is: "H = 2".
  sized(letters) {
    return letters.map((letter) => [letter, this.sizes[letter]])
  }
}
