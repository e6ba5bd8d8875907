// The frames of a walk that were seen, so that it can be watched again: a slider, and a button that plays.

import { make, makeButton } from "./dom.js";

const MOST = 240; // frames kept; of a longer walk every second one
const FEWEST = 4; // of a walk that was over when the page came, the server has the last frame only
const PER_SECOND = 12;

export class Reel {
  /** `show` is called with a frame to be shown, and with null when the answer is to be shown again. */
  constructor(show) {
    this.frames = [];
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

  keep(frame) {
    this.frames.push(frame);
    if (this.frames.length > MOST) this.frames = this.frames.filter((_, place) => place % 2 === 1);
  }

  /** Offer the walk again, once it is over. */
  offer() {
    this.element.hidden = this.frames.length < FEWEST;
    this.slider.max = this.frames.length - 1;
    this.slider.value = this.slider.max;
  }

  go(place) {
    const frame = this.frames[place];
    this.slider.value = place;
    this.slider.setAttribute("aria-valuetext", `${Math.round(100 * frame.moved)} % of the way, score ${frame.score?.toFixed(2)}`);
    this.show(frame);
  }

  play() {
    const start = performance.now();
    const tick = (now) => {
      const place = Math.floor(((now - start) / 1000) * PER_SECOND);
      if (place >= this.frames.length) return this.rest();
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
