// One method: its walk while it is walked, then its answer. Alone it has two pictures in the end, beside others one.

import { Chart } from "./chart.js";
import { make, percent } from "./dom.js";
import { makeBars, makeFacts, makeNotes, makeSentences } from "./facts.js";
import { makeFigure } from "./figure.js";
import { Reel } from "./reel.js";

const WAYS = { to_image: "Pixels appear", to_baseline: "Pixels disappear" };
export const VIEWS = {
  overlay: ["Outlined", "The part with half of the positive credit. Pale: what the model is not shown."],
  glow: ["Map on photo", "The credit of each pixel, over the photo."],
  map: ["Map", "The credit of each pixel: bright is much."],
  region: ["Part alone", "The outlined part alone, the rest blurred."],
  rest: ["Without it", "All but the outlined part."],
};

export class Column {
  constructor(method, isAlone, view) {
    Object.assign(this, { method, isAlone, view, result: null, waiting: false });
    this.points = Object.fromEntries(Object.keys(WAYS).map((way) => [way, makeFigure(`point ${way}`)]));
    this.answer = makeFigure("answer");
    this.map = makeFigure("map");
    this.bar = make("progress", { max: 1, value: 0, "aria-label": `Progress of ${method}` });
    this.status = make("span", { class: "quiet" }, "waits");
    this.chart = new Chart();
    this.reel = new Reel((moment) => (moment ? this.showMoment(moment) : this.showResult()));
    this.words = make("div", { class: "words" });
    this.element = this.layOut();
  }

  layOut() {
    const head = make("header", {}, make("h3", {}, this.method), this.status);
    const figures = [this.answer, ...Object.values(this.points), this.map].map(({ figure }) => figure);
    const legend = Object.entries(WAYS).map(([way, words]) => make("span", { class: way }, words));
    this.walk = make("figure", { class: "walk", hidden: true }, make("figcaption", { class: "legend" }, ...legend), this.chart.svg, this.reel.element);
    return make("article", { class: "column", "data-state": "waiting" }, head, make("div", { class: "pictures" }, ...figures), this.bar, this.words, this.walk);
  }

  get state() {
    return this.element.dataset.state;
  }

  set state(name) {
    this.element.dataset.state = name;
  }

  /** Show a picture until there is something of its own. */
  wait(source) {
    if (this.state === "waiting") this.map.show(source, "What the model is shown");
  }

  /** What happened to this method: progress, a frame, a result, or its end. */
  take(event) {
    if (event.type === "progress") this.progress(event);
    if (event.type === "frame") this.takeFrame(event);
    if (event.type === "result") this.takeResult(event.result);
    if (event.type === "failed") this.end(event.error, "failed");
  }

  progress({ share, evaluations }) {
    if (share != null) this.bar.value = share;
    else this.bar.removeAttribute("value"); // how much is left is not known
    this.status.textContent = [share == null ? "" : percent(share), `${evaluations} evaluations`].filter(Boolean).join(" · ");
  }

  takeFrame(frame) {
    this.state = "running";
    this.walk.hidden = false;
    const moment = this.reel.keep(frame);
    this.chart.add(frame);
    this.chart.mark(moment.frames);
    this.moment = moment;
    if (this.waiting) return; // of several moments between two of the screen's, the last is shown
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      if (this.state === "running") this.showMoment(this.moment);
    });
  }

  takeResult(result) {
    this.result = result;
    if (result.final === false) return; // it is shown if nothing clearer follows
    this.chart.finish(result.curve);
    this.end("", "answered");
  }

  /** The walk is over: answered, cancelled or failed. */
  end(words, state) {
    if (["answered", "failed"].includes(this.state)) return;
    this.state = state;
    this.bar.hidden = true;
    this.status.textContent = words;
    this.chart.mark();
    this.walk.hidden = this.chart.isEmpty;
    this.reel.offer();
    this.describeResult();
    this.showResult();
  }

  describeResult() {
    if (!this.result) return;
    const { sentences, label, parts, asked, notes, final } = this.result;
    const soFar = final === false ? [`So far, after ${this.result.walks} walk${this.result.walks > 1 ? "s" : ""}:`] : [];
    const words = make("div", {}, ...makeSentences([...soFar, ...sentences.slice(1)]));
    this.words.replaceChildren(
      make("div", { class: "answers" }, words, makeBars(asked ?? `How likely it finds ${label} in`, parts)),
      makeFacts(this.result, this.isAlone ? this.method : null),
      makeNotes(notes),
    );
  }

  /** A moment of the walk: the point of each direction, and the credit so far. */
  showMoment({ frames, map }) {
    this.element.dataset.shows = "walk";
    this.answer.show(null);
    for (const [way, { show }] of Object.entries(this.points)) {
      const frame = frames[way];
      show(frame?.point, frame && `${WAYS[way]}: ${Math.round(100 * frame.moved)}%`);
    }
    this.map.show(map, "Credit so far");
    if (this.state !== "running") this.chart.mark(frames);
  }

  /** The pictures of the answer: the outlined photo, and beside it the one that was chosen. */
  showResult() {
    if (!this.result) return;
    this.element.dataset.shows = "answer";
    this.chart.mark();
    Object.values(this.points).forEach(({ show }) => show(null));
    const { pictures } = this.result;
    const view = pictures[this.view] ? this.view : "map"; // a map of nothing has no parts
    this.answer.show(this.isAlone ? pictures.overlay : null, VIEWS.overlay[1]);
    this.map.show(pictures[view], VIEWS[view][1]);
  }

  choose(view) {
    this.view = view;
    this.reel.stop();
    if (this.state !== "running") this.showResult();
  }
}
