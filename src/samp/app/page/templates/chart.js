// The score along the walks, drawn while they are walked: one line per walk and direction.

import { make, number } from "./dom.js";

const HEIGHT = 150;
const MARGIN = { left: 44, right: 12, top: 12, bottom: 24 };
const NARROW = 240; // pixels: below, the words under the axis would meet
const WAYS = ["to_image", "to_baseline"];

export class Chart {
  constructor() {
    this.svg = make("svg", { class: "chart", role: "img", "aria-label": "The score along the walk" });
    this.lines = []; // {direction, points: [[share of the way, score], …]}, oldest first
    this.curves = []; // of the result: the mean of all walks
    this.here = {};
    this.waiting = false;
    new ResizeObserver(() => this.draw()).observe(this.svg);
  }

  /** Take up one more point of a walk; going back to the start begins another walk. */
  add({ direction, moved, score }) {
    let line = this.lines.findLast((one) => one.direction === direction);
    if (!line || moved < line.points.at(-1)[0]) this.lines.push((line = { direction, points: [] }));
    line.points.push([moved, score]);
    this.drawSoon();
  }

  /** Put a dot on the frame of each direction; without any there is none. */
  mark(frames = {}) {
    this.here = frames;
    this.drawSoon();
  }

  get isEmpty() {
    return !this.lines.length && !this.curves.length;
  }

  /** The curves of the whole result: what was watched stays behind them, faint. */
  finish(curve) {
    const share = (scores) => scores.map((score, step) => [scores.length > 1 ? step / (scores.length - 1) : 1, score]);
    this.curves = WAYS.filter((way) => curve?.[way]?.length > 1).map((way) => ({ direction: way, points: share(curve[way]) }));
    this.drawSoon();
  }

  drawSoon() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  draw() {
    const width = this.svg.clientWidth;
    const all = [...this.lines, ...this.curves];
    const scores = all.flatMap(({ points }) => points.map(([, score]) => score)).filter(Number.isFinite);
    if (!width || !scores.length) return;
    const [low, high] = widen(Math.min(...scores), Math.max(...scores));
    const x = (share) => MARGIN.left + share * (width - MARGIN.left - MARGIN.right);
    const y = (score) => HEIGHT - MARGIN.bottom - ((score - low) / (high - low)) * (HEIGHT - MARGIN.top - MARGIN.bottom);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    this.svg.replaceChildren(...drawAxes(low, high, x, y, width), ...this.drawLines(x, y), ...this.drawDots(x, y));
  }

  drawLines(x, y) {
    const newest = new Set(WAYS.map((way) => this.lines.findLast((line) => line.direction === way)));
    const draw = (line, kind) => {
      const points = line.points.filter(([, score]) => Number.isFinite(score)).map(([share, score]) => `${x(share).toFixed(1)},${y(score).toFixed(1)}`);
      return make("polyline", { class: `${kind} ${line.direction}`, points: points.join(" ") });
    };
    const kind = (line) => (this.curves.length || !newest.has(line) ? "past" : "now");
    return [...this.lines.map((line) => draw(line, kind(line))), ...this.curves.map((line) => draw(line, "now"))];
  }

  /** The higher dot has its score above it and the other one below, so that each stands at its own. */
  drawDots(x, y) {
    const frames = Object.values(this.here).filter(({ score }) => Number.isFinite(score));
    return frames.sort((one, other) => other.score - one.score).flatMap((frame, place) => drawDot(frame, place === 0, x, y));
  }
}

function drawDot({ moved, score, direction }, isHighest, x, y) {
  const [end, gap] = moved > 0.7 ? ["end", -10] : ["start", 10];
  const dot = make("circle", { class: `dot ${direction}`, cx: x(moved), cy: y(score), r: 6 });
  return [dot, make("text", { class: "score", x: x(moved) + gap, y: isHighest ? Math.max(12, y(score) - 9) : y(score) + 18, "text-anchor": end }, number(score))];
}

function drawAxes(low, high, x, y, width) {
  const ticks = listTicks(low, high).flatMap((tick) => [
    make("line", { class: "grid", x1: x(0), x2: x(1), y1: y(tick), y2: y(tick) }),
    make("text", { x: x(0) - 8, y: y(tick), dy: "0.35em", "text-anchor": "end" }, `${tick}`.replace("-", "−")),
  ]);
  const ends = [[0, "start", width < NARROW ? "start" : "start of the walk"], [1, "end", "end"]].map(([share, anchor, words]) =>
    make("text", { x: x(share), y: HEIGHT - 6, "text-anchor": anchor }, words),
  );
  return [...ticks, ...ends];
}

function widen(low, high) {
  const room = 0.08 * (high - low) || Math.abs(high) * 0.1 || 1;
  return [low - room, high + room];
}

/** Three or four round numbers between these. */
function listTicks(low, high) {
  const rough = (high - low) / 3;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].find((one) => one * power >= rough) * power;
  const digits = Math.max(0, 1 - Math.floor(Math.log10(step)));
  const ticks = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high; tick += step) ticks.push(Number(tick.toFixed(digits)) + 0);
  return ticks;
}
