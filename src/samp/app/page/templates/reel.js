// The moments of a walk that were seen, so that it can be watched again: a slider, and a button that plays.

import { make, makeButton, number, percent } from "./dom.js";

const MOST = 160; // moments kept; of a longer walk every second one
const FEWEST = 4; // of a walk that was over when the page came, the server has the last frame only
const PER_SECOND = 10;

export class Reel {
  /** `show` is called with a moment to be shown, and with null when the answer is to be shown again. */
  constructor(show) {
    this.moments = []; // {walk, step, frames: {direction: frame}, map}
    this.show = show;
    this.playing = 0;
    this.slider = make("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": "A point of the walk" });
    this.slider.addEventListener("input", () => {
      this.stop();
      this.go(this.slider.valueAsNumber);
    });
    this.button = makeButton("▶ Watch again", () => (this.playing ? this.rest() : this.play()), { class: "play" });
    this.element = make("div", { class: "reel", hidden: true }, this.button, this.slider);
  }

  /** Keep a frame, and return its moment: both directions of a step are one. */
  keep(frame) {
    const { walk, step, direction, map } = frame;
    const last = this.moments.at(-1);
    if (last && last.walk === walk && last.step === step && !last.frames[direction]) {
      last.frames[direction] = frame;
      return last;
    }
    const moment = { walk, step, map, frames: { [direction]: frame } };
    this.moments.push(moment);
    if (this.moments.length > MOST) this.moments = this.moments.filter((_, place) => place % 2 === 1);
    return moment;
  }

  /** Offer the walk again, once it is over. */
  offer() {
    this.element.hidden = this.moments.length < FEWEST;
    this.slider.max = this.moments.length - 1;
    this.slider.value = this.slider.max;
  }

  go(place) {
    const moment = this.moments[place];
    const words = Object.values(moment.frames).map(({ moved, score }) => `${percent(moved)} of the way, score ${score == null ? "unknown" : number(score)}`);
    this.slider.value = place;
    this.slider.setAttribute("aria-valuetext", words.join("; "));
    this.show(moment);
  }

  play() {
    const start = performance.now();
    const tick = (now) => {
      const place = Math.floor(((now - start) / 1000) * PER_SECOND);
      if (place >= this.moments.length) return this.rest();
      if (place !== this.slider.valueAsNumber || !place) this.go(Math.max(0, place));
      this.playing = requestAnimationFrame(tick);
    };
    this.button.textContent = "■ Stop";
    this.playing = requestAnimationFrame(tick);
  }

  stop() {
    cancelAnimationFrame(this.playing);
    this.playing = 0;
    this.button.textContent = "▶ Watch again";
  }

  /** Back to the answer. */
  rest() {
    this.stop();
    this.slider.value = this.slider.max;
    this.show(null);
  }
}
