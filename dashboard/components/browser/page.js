// What every page shares: its state lives in the browser, Python is told of it, and pictures are painted when their
// numbers have come.

export const SETTLED = 250  // milliseconds without a change, after which Python is told
const darkness = window.matchMedia("(prefers-color-scheme: dark)")

// A page has draw(), and sets `toPython` (main.js does) and `numbers` (numbers.js).
export class Page {
  constructor(host) {
    this.host = host
    this.turned = () => this.draw()
    darkness.addEventListener("change", this.turned)
  }

  get theme() {
    return darkness.matches ? "dark" : "light"
  }

  // Take over Python's state where the address led elsewhere; it is the browser's own otherwise.
  follow({ revision, state }) {
    if (revision !== this.revision) this.wanted = { ...state }
    this.revision = revision
  }

  // Say where the viewer is, at once or when nothing moves any more.
  tell(atOnce = false) {
    clearTimeout(this.telling)
    this.telling = setTimeout(() => this.toPython.setStateValue("state", this.wanted), atOnce ? 0 : SETTLED)
  }

  // Paint at once if the numbers are here; else when they come, unless something else is wanted by then.
  // wanted: [what, asked] each. before: awaited before anything is asked for; with `() => this.coming` one question is
  // on its way at a time, however fast a slider moves.
  async painted(wanted, paint, before = null) {
    const drawing = (this.drawing = {})
    const here = wanted.map(([what, asked]) => this.numbers.here(what, asked))
    if (!here.includes(undefined)) return paint(here)
    const behind = setTimeout(() => { this.host.dataset.waiting = "" }, SETTLED)
    try {
      await before?.()
      if (drawing !== this.drawing) return
      const coming = Promise.all(wanted.map(([what, asked]) => this.numbers.get(what, asked)))
      this.coming = coming.catch(() => {})
      const came = await coming
      if (drawing === this.drawing) paint(came)
    } catch (error) {
      if (drawing === this.drawing) this.fail(error)
    } finally {
      clearTimeout(behind)
      if (drawing === this.drawing) delete this.host.dataset.waiting
    }
  }

  close() {
    darkness.removeEventListener("change", this.turned)
    clearTimeout(this.telling)
  }
}
