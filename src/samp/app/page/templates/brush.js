// Paint over a part of the picture, and see what the model says without it.

import { post } from "./api.js";
import { at, make, makeChoice, percent, number, showProblem } from "./dom.js";
import { makeBars } from "./facts.js";

const STEP = 4; // pixels of the picture that an arrow key moves the brush
const FILLS = [["blurred", "Blur"], ["mean", "Mean"], ["black", "Black"]];
const canvas = () => at("canvas");
let job = null;
let picture = null; // what the model is shown
let strokes = []; // each {radius, points}
let here = null; // where the brush is
let isDown = false;
let fill = FILLS[0][0];
let asking = null;

/** Offer the brush on the picture that a job's model is shown. */
export async function offerBrush(chosen, source) {
  job = chosen;
  const image = new Image();
  image.src = source;
  await image.decode();
  if (job !== chosen) return;
  picture = image;
  Object.assign(canvas(), { width: image.naturalWidth, height: image.naturalHeight });
  startAgain();
  at("brush").hidden = false;
}

export function hideBrush() {
  job = null;
  at("brush").hidden = true;
}

export function setUpBrush() {
  makeChoice(at("fill").querySelector(".choice"), "fill", FILLS, fill, (chosen) => {
    fill = chosen;
    look();
  });
  at("undo").addEventListener("click", undo);
  at("clear").addEventListener("click", startAgain);
  at("brush-size").addEventListener("input", draw);
  const area = canvas();
  area.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    area.setPointerCapture(event.pointerId);
    begin(placeOf(event));
  });
  area.addEventListener("pointermove", (event) => {
    if (isDown) event.getCoalescedEvents?.().forEach((one) => extend(placeOf(one)));
    move(placeOf(event));
  });
  area.addEventListener("pointerup", end);
  area.addEventListener("pointercancel", end);
  area.addEventListener("pointerleave", () => isDown || ((here = null), draw()));
  area.addEventListener("keydown", paintByKey);
}

const radius = () => (at("brush-size").valueAsNumber / 100) * Math.min(canvas().width, canvas().height);

function placeOf({ clientX, clientY }) {
  const box = canvas().getBoundingClientRect();
  return [((clientX - box.left) / box.width) * canvas().width, ((clientY - box.top) / box.height) * canvas().height];
}

// ---- strokes

function begin(place) {
  isDown = true;
  strokes.push({ radius: radius(), points: [place] });
  move(place);
}

function extend(place) {
  strokes.at(-1).points.push(place);
}

function move(place) {
  here = place;
  if (isDown) extend(place);
  draw();
}

function end() {
  if (!isDown) return;
  isDown = false;
  look();
}

function undo() {
  strokes.pop();
  draw();
  look();
}

function startAgain() {
  strokes = [];
  asking?.abort();
  draw();
  showNothing();
}

function paintByKey(event) {
  const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key] ?? [0, 0];
  const act = { " ": () => (begin(here), end()), Backspace: undo }[event.key];
  if (!act && !dx && !dy) return;
  event.preventDefault();
  event.stopPropagation();
  here ??= [canvas().width / 2, canvas().height / 2];
  const inside = (value, most) => Math.min(most, Math.max(0, value));
  if (act) act();
  else move([inside(here[0] + STEP * dx, canvas().width), inside(here[1] + STEP * dy, canvas().height)]);
}

// ---- pictures

function paint(context) {
  Object.assign(context, { lineCap: "round", lineJoin: "round" });
  for (const { radius, points } of strokes) {
    context.lineWidth = 2 * radius;
    context.beginPath();
    context.moveTo(...points[0]);
    points.forEach(([x, y]) => context.lineTo(x + 0.01, y)); // a line of no length would draw nothing
    context.stroke();
  }
}

function draw() {
  if (!picture) return;
  const context = canvas().getContext("2d");
  const accent = getComputedStyle(canvas()).getPropertyValue("--brush");
  context.clearRect(0, 0, canvas().width, canvas().height);
  context.drawImage(picture, 0, 0);
  const veil = new OffscreenCanvas(canvas().width, canvas().height).getContext("2d");
  veil.strokeStyle = accent; // on a sheet of its own, so that strokes that cross are no darker
  paint(veil);
  context.globalAlpha = 0.62;
  context.drawImage(veil.canvas, 0, 0);
  context.globalAlpha = 1;
  if (!here) return;
  for (const [colour, width] of [["black", 3], ["white", 1.2]]) {
    Object.assign(context, { strokeStyle: colour, lineWidth: (width * canvas().width) / canvas().clientWidth });
    context.beginPath();
    context.arc(...here, radius(), 0, 2 * Math.PI);
    context.stroke();
  }
}

/** The mask: white is removed. */
function makeMask() {
  const sheet = make("canvas", { width: canvas().width, height: canvas().height });
  const context = sheet.getContext("2d");
  context.fillRect(0, 0, sheet.width, sheet.height);
  context.strokeStyle = "white";
  paint(context);
  return sheet.toDataURL("image/png").split(",")[1];
}

// ---- the model looks again

async function look() {
  asking?.abort();
  if (!strokes.length) return showNothing();
  asking = new AbortController();
  const { signal } = asking;
  at("effect").classList.add("waits");
  try {
    show(await post(`api/jobs/${job.job}/remove`, { mask: makeMask(), fill }, { signal }));
  } catch (problem) {
    if (!signal.aborted) showProblem(problem);
  } finally {
    if (!signal.aborted) at("effect").classList.remove("waits");
  }
}

function showNothing() {
  at("removed").hidden = true;
  at("effect").classList.remove("waits");
  at("effect").replaceChildren(make("p", { class: "quiet", id: "brush-keys" }, "With the keyboard: arrows move the brush, space paints, backspace undoes."));
}

function show({ picture, before, after, top }) {
  const value = (one) => (one.probability == null ? number(one.score) : percent(one.probability));
  const row = (label, one) => ({ label, text: value(one), probability: one.probability, explained: true });
  const turned = top[0].label === before.label ? `still says ${before.label}` : `now says ${top[0].label}`;
  const first = top.slice(0, 3).map((one) => ({ ...one, text: value(one), explained: one.label === before.label }));
  at("removed").hidden = false;
  at("removed").firstElementChild.src = picture;
  at("effect").replaceChildren(
    make("p", { class: "sentence" }, `Without it the model ${turned}.`),
    makeBars(`${before.label}`, [row("with it", before), row("without it", after)]),
    makeBars("Its answer without it", first),
  );
}
