// The player: one position along all frames of all walks, and everything that shows or changes it.

const data = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);
const make = (name, attributes = {}, ...children) => {
  const svg = ["path", "line", "text", "circle", "rect", "g", "clipPath"].includes(name);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
};

const WORDS = {
  to_image: { title: "Pixels appear", from: "baseline", to: "photo" },
  to_baseline: { title: "Pixels disappear", from: "photo", to: "baseline" },
};
const FRAMES_PER_SECOND = 12;
const REST = 8; // frames for which playing rests at the end of a walk
const MARGIN = { left: 46, right: 16, top: 26, bottom: 6 }; // of the chart; the slider has the same (player.css)

const frames = data.walks.flatMap((walk, w) => walk.steps.map((step, f) => ({ walk: w, frame: f, step })));
const firsts = data.walks.map((_, w) => frames.findIndex((one) => one.walk === w));
const lasts = data.walks.map((walk, w) => firsts[w] + walk.steps.length - 1);
const last = frames.length - 1;
let position = data.walks[0].direction === "to_image" ? lasts[0] : Math.round(last / 2); // where there is most to see
let touched = false;
let playing = false;
let ticking = 0; // the frame that is asked for while it plays
let film;

const number = (value) => value.toFixed(Math.abs(value) < 100 ? 2 : 0).replace("-", "−");
const percent = (share) =>
  share < 0.0005 ? "< 0.1 %" : share > 0.9995 ? "> 99.9 %" : `${(100 * share).toFixed(1)} %`;

// ---- what is shown

function show() {
  const here = frames[position];
  const walk = data.walks[here.walk];
  const score = walk.curve[here.step];
  const words = WORDS[walk.direction];
  const where = `Step ${here.step} of ${walk.curve.length - 1}`;
  at("player").dataset.walk = walk.direction;
  film.point(at("point"), here);
  film.map(at("map"), here, at("over").checked);
  at("phase").textContent = words.title;
  at("way").textContent = `${Math.round(100 * walk.way[here.frame])} % of the way`;
  at("where").textContent = where;
  at("score").textContent = number(score);
  at("chance").textContent = walk.chance ? `${data.asked.kind} · ${percent(walk.chance[here.frame])}` : data.asked.kind;
  at("position").value = position;
  at("position").style.setProperty("--at", last ? position / last : 1);
  at("position").setAttribute("aria-valuetext", `${words.title}: ${where}, score ${number(score)}`);
  at("walks").childNodes.forEach((button, w) => button.setAttribute("aria-pressed", w === here.walk));
  showTop(walk.top[here.frame]);
  chart.mark();
}

function showTop(top) {
  at("top").childNodes.forEach((row, rank) => {
    const [index, share] = top[rank];
    const [name, bar, value] = row.childNodes;
    row.classList.toggle("asked", index === data.asked.index);
    name.textContent = name.title = data.names[index];
    bar.firstChild.style.transform = `scaleX(${share})`;
    value.textContent = percent(share);
  });
}

function setUp() {
  const [width, height] = data.size;
  for (const canvas of [at("point"), at("map")]) {
    Object.assign(canvas, { width, height });
    canvas.classList.toggle("tiny", Math.max(width, height) < 100); // squares rather than a blur
  }
  const stops = data.heat.map((colour) => `rgb(${colour.join(" ")})`);
  at("ramp").style.background = `linear-gradient(90deg, ${stops.join(", ")})`;
  data.walks[0].top[0].forEach(() =>
    at("top").append(make("li", {}, make("span"), make("i", {}, make("b")), make("span"))),
  );
  data.walks.forEach((walk, w) => {
    const button = make("button", { type: "button", "data-direction": walk.direction }, WORDS[walk.direction].title);
    button.style.flexGrow = walk.steps.length;
    button.addEventListener("click", () => go(firsts[w]));
    at("walks").append(button);
    if (w === 0) at("ends").append(end(w, false));
    at("ends").append(end(w, true));
  });
  at("position").max = last;
}

/** A button with the picture at one end of a walk, which leads there. */
function end(w, isLast) {
  const words = WORDS[data.walks[w].direction];
  const canvas = make("canvas", { width: data.size[0], height: data.size[1], "aria-hidden": "true" });
  film.thumb(canvas, w, isLast);
  const button = make("button", { type: "button" }, canvas, make("span", {}, isLast ? words.to : words.from));
  const place = isLast ? lasts[w] : firsts[w];
  button.style.left = `${100 * (last ? place / last : 1)}%`;
  button.addEventListener("click", () => go(place));
  return button;
}

// ---- the score curve

const chart = {
  draw() {
    const svg = at("chart");
    const { width, height } = svg.getBoundingClientRect();
    const right = width - MARGIN.right;
    const bottom = height - MARGIN.bottom;
    const scores = data.walks.flatMap((walk) => walk.curve);
    const [low, high] = padded(Math.min(...scores), Math.max(...scores));
    this.x = (place) => MARGIN.left + (last ? place / last : 0.5) * (right - MARGIN.left);
    this.y = (score) => bottom - ((score - low) / (high - low)) * (bottom - MARGIN.top);
    this.right = right;
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.replaceChildren();
    for (const tick of ticks(low, high)) {
      svg.append(make("line", { class: "grid", x1: MARGIN.left, x2: right, y1: this.y(tick), y2: this.y(tick) }));
      svg.append(make("text", { x: MARGIN.left - 8, y: this.y(tick), "text-anchor": "end", dy: "0.35em" }, `${tick}`.replace("-", "−")));
    }
    this.passed = make("rect", { x: 0, y: 0, width: 0, height });
    svg.append(make("clipPath", { id: "passed" }, this.passed));
    data.walks.forEach((walk, w) => svg.append(...this.lines(walk, w, bottom)));
    this.rule = make("line", { class: "rule", y1: 2, y2: bottom });
    this.dot = make("circle", { class: "dot", id: "marker", r: 7 });
    this.label = make("text", { class: "score", y: 15 });
    svg.append(this.rule, this.dot, this.label, make("text", { x: 0, y: 15 }, data.asked.kind));
  },

  /** One walk: its line, and the area under it as far as it lies behind. */
  lines(walk, w, bottom) {
    const reach = walk.curve.length - 1;
    const place = (step) => this.x(firsts[w] + (reach ? step / reach : 1) * (lasts[w] - firsts[w]));
    const line = walk.curve.map((score, step) => `${place(step).toFixed(1)} ${this.y(score).toFixed(1)}`).join("L");
    const area = `M${place(0)} ${bottom}L${line}L${place(reach)} ${bottom}z`;
    return [
      make("path", { class: `area ${walk.direction}`, d: area, "clip-path": "url(#passed)" }),
      make("path", { class: `line ${walk.direction}`, d: `M${line}` }),
    ];
  },

  mark() {
    const { walk, step } = frames[position];
    const score = data.walks[walk].curve[step];
    const [x, y] = [this.x(position), this.y(score)];
    this.passed.setAttribute("width", Math.max(x, 0)); // a frame that is not laid out yet has no width
    for (const [name, value] of Object.entries({ x1: x, x2: x })) this.rule.setAttribute(name, value);
    this.dot.setAttribute("cx", x);
    this.dot.setAttribute("cy", y);
    const leftwards = x > this.right - 60;
    this.label.textContent = number(score);
    this.label.setAttribute("x", x + (leftwards ? -8 : 8));
    this.label.setAttribute("text-anchor", leftwards ? "end" : "start");
  },
};

function padded(low, high) {
  const pad = 0.06 * (high - low) || 0.5;
  return [low - pad, high + pad];
}

/** Four or so round numbers between the bounds. */
function ticks(low, high) {
  const rough = (high - low) / 4;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * [1, 2, 5, 10].reduce((a, b) => (Math.abs(b * unit - rough) < Math.abs(a * unit - rough) ? b : a));
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, i) => +((first + i) * step).toPrecision(12));
}

// ---- what changes it

function go(place) {
  pause();
  move(place);
}

function move(place) {
  touched = true;
  position = Math.min(Math.max(Math.round(place), 0), last);
  show();
}

function play() {
  if (position === last || !touched) move(0);
  playing = true;
  let before = performance.now();
  let due = 1;
  const tick = (now) => {
    due -= ((now - before) / 1000) * FRAMES_PER_SECOND * at("speed").value;
    before = now;
    if (due <= 0) {
      move(position + 1);
      due = lasts.includes(position) ? REST : Math.max(due + 1, 0);
    }
    if (position === last) pause();
    else ticking = requestAnimationFrame(tick);
  };
  ticking = requestAnimationFrame(tick);
  showPlaying();
}

function pause() {
  playing = false;
  cancelAnimationFrame(ticking); // or whoever plays again at once plays twice as fast
  showPlaying();
}

function showPlaying() {
  at("play").setAttribute("aria-label", playing ? "Pause" : "Play");
  at("play").querySelector("path").setAttribute("d", playing ? "M7 5h4v14H7zM13 5h4v14h-4z" : "M8 5v14l11-7z");
}

const toggle = () => (playing ? pause() : play());

const KEYS = {
  ArrowRight: () => go(position + 1),
  ArrowUp: () => go(position + 1),
  ArrowLeft: () => go(position - 1),
  ArrowDown: () => go(position - 1),
  PageUp: () => go(position + 10),
  PageDown: () => go(position - 10),
  Home: () => go(0),
  End: () => go(last),
  " ": toggle,
};

const SCROLLING = ["ArrowUp", "ArrowDown", "PageUp", "PageDown"];

function listen() {
  at("position").addEventListener("input", (event) => go(+event.target.value));
  at("play").addEventListener("click", toggle);
  at("back").addEventListener("click", () => go(position - 1));
  at("forward").addEventListener("click", () => go(position + 1));
  at("over").addEventListener("change", show);
  document.addEventListener("keydown", (event) => {
    const own = event.target.closest("select") || (event.key === " " && event.target.closest("button, label, [type=checkbox]"));
    const scrolls = SCROLLING.includes(event.key) && !event.target.closest("#position"); // leave the page its own keys
    if (own || scrolls || !KEYS[event.key] || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    KEYS[event.key]();
  });
  const drag = (event) => {
    const { left } = at("chart").getBoundingClientRect();
    go(((event.clientX - left - MARGIN.left) / (chart.right - MARGIN.left)) * last);
  };
  at("chart").addEventListener("pointerdown", (event) => {
    at("chart").setPointerCapture(event.pointerId);
    drag(event);
  });
  at("chart").addEventListener("pointermove", (event) => event.buttons && drag(event));
  new ResizeObserver(() => {
    chart.draw();
    chart.mark();
  }).observe(at("chart"));
}

try {
  film = await openFilm(data, at("film").textContent);
  setUp();
  chart.draw();
  listen();
  show();
  document.documentElement.dataset.ready = "";
} catch (error) {
  at("trouble").textContent = `This browser cannot play the film (${error.message}): try a newer one.`;
  at("trouble").hidden = false;
}
