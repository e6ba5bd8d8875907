// One method: its walk while it is walked, then its answer. Alone it has two pictures, beside others one.

import { Chart } from "./chart.js";
import { make, percent } from "./dom.js";
import { makeBars, makeFacts, makeSentences } from "./facts.js";
import { Reel } from "./reel.js";

const WAYS = { to_image: "Pixels appear", to_baseline: "Pixels disappear" };
export const VIEWS = {
  overlay: ["Outlined", "Outlined: half of the credit. Pale: what the model is not shown."],
  glow: ["Map on photo", "The credit of each pixel, over the photo."],
  map: ["Map", "The credit of each pixel: bright is much."],
  region: ["Part alone", "The outlined part alone, the rest blurred."],
  rest: ["Without it", "All but the outlined part."],
};

export class Column {
  constructor(method, line, isAlone, view) {
    Object.assign(this, { method, isAlone, view, result: null, frame: null, waiting: false });
    this.left = makeFigure("left");
    this.right = makeFigure("right");
    this.bar = make("progress", { max: 1, value: 0, "aria-label": `Progress of ${method}` });
    this.status = make("span", { class: "quiet" }, "waits");
    this.chart = new Chart();
    this.reel = new Reel((frame) => (frame ? this.showFrame(frame) : this.showResult()));
    this.legend = make("figcaption", { class: "legend" }, ...Object.entries(WAYS).map(([way, words]) => make("span", { class: way }, words)));
    this.walk = make("figure", { class: "walk", hidden: true }, this.legend, this.chart.svg, this.reel.element);
    this.words = make("div", { class: "words" }, make("p", { class: "quiet" }, line));
    const head = make("header", {}, make("h3", {}, method), this.status);
    const pictures = make("div", { class: "pictures" }, this.left.figure, this.right.figure);
    this.element = make("article", { class: "column", "data-state": "waiting" }, head, pictures, this.bar, this.words, this.walk);
  }

  /** Show a picture until there is something of its own. */
  wait(source) {
    if (this.element.dataset.state === "waiting") this.right.show(source, "What the model is shown");
  }

  /** What happened to this method: progress, a frame, a result. */
  take(event) {
    if (event.type === "progress") this.progress(event);
    if (event.type === "frame") this.takeFrame(event);
    if (event.type === "result") this.takeResult(event.result);
    if (event.type === "failed") this.end(event.error, "failed");
  }

  progress({ share, evaluations }) {
    if (this.element.dataset.state === "waiting") this.element.dataset.state = "running";
    if (share != null) this.bar.value = share;
    else this.bar.removeAttribute("value"); // how much is left is not known
    this.status.textContent = [share == null ? "" : percent(share), `${evaluations} evaluations`].filter(Boolean).join(" · ");
  }

  takeFrame(frame) {
    this.element.dataset.state = "running";
    this.walk.hidden = false;
    this.reel.keep(frame);
    this.chart.add(frame);
    this.frame = frame;
    if (this.waiting) return; // of several frames between two of the screen's, the last is shown
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      if (this.element.dataset.state === "running") this.showFrame(this.frame);
    });
  }

  takeResult(result) {
    this.result = result;
    this.chart.finish(result.final === false ? null : result.curve);
    if (result.final === false) this.element.dataset.state = "running";
    else this.end("", "answered");
    this.words.replaceChildren(
      make("div", { class: "answers" }, make("div", {}, ...makeSentences(result.sentences)), makeBars(result.asked ?? `How likely it finds ${result.label} in`, result.parts)),
      makeFacts(result, this.isAlone ? this.method : null),
    );
    if (result.final !== false || !this.frame) this.showResult();
  }

  /** The walk is over: answered, cancelled or failed. */
  end(words, state) {
    if (this.element.dataset.state === "answered") return;
    this.element.dataset.state = state;
    this.bar.hidden = true;
    this.status.textContent = words;
    this.chart.mark();
    this.walk.hidden = !this.reel.frames.length && !this.result?.curve?.to_image?.length && !this.result?.curve?.to_baseline?.length;
    this.reel.offer();
    if (state !== "answered" && this.result) this.showResult();
  }

  showFrame(frame) {
    this.element.dataset.shows = "walk";
    this.element.dataset.way = frame.direction;
    const way = `${WAYS[frame.direction] ?? "The walk"}: ${Math.round(100 * frame.moved)} % of the way`;
    this.left.show(frame.point, way);
    this.right.show(frame.map, "Credit so far");
    if (this.element.dataset.state !== "running") this.chart.mark(frame);
  }

  /** The pictures of the answer: the outlined photo, and beside it the one that was chosen. */
  showResult() {
    if (!this.result) return;
    this.element.dataset.shows = "answer";
    this.chart.mark();
    const { pictures } = this.result;
    const view = pictures[this.view] ? this.view : "map"; // a map of nothing has no parts
    if (this.isAlone) this.left.show(pictures.overlay, VIEWS.overlay[1]);
    this.right.show(pictures[view], VIEWS[view][1]);
  }

  choose(view) {
    this.view = view;
    this.reel.stop();
    if (this.result) this.showResult();
  }
}

/** A picture with a caption; as wide as its shape asks for, so that pictures in a row have one height. */
function makeFigure(side) {
  const image = make("img", { alt: "", decoding: "sync" });
  const caption = make("figcaption", { class: "quiet" });
  const figure = make("figure", { class: side, hidden: true }, image, caption);
  image.addEventListener("load", () => figure.style.setProperty("--shape", image.naturalWidth / image.naturalHeight));
  const show = (source, words) => {
    figure.hidden = !source;
    if (source && image.src !== source) image.src = source;
    image.alt = words;
    caption.textContent = words;
  };
  return { figure, show };
}
