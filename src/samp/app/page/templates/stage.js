// The answer's side of the page: a job's columns, and what its events do to them.

import { cancelJob, follow } from "./api.js";
import { Column, VIEWS } from "./column.js";
import { at, makeChoice, percent, say, showProblem, tell } from "./dom.js";
import { info, labelOf } from "./state.js";

let columns = new Map();
let watching = null; // {job, stop: AbortController}
let told = 0; // quarters of the walk that were said aloud
let view = "glow";

/** Show a job from its first event to its last; ends earlier when another one is shown. */
export async function watch(job) {
  leave();
  const stop = new AbortController();
  watching = { job, stop };
  told = 0;
  setUp(job);
  try {
    await follow(job.job, (event) => take(event, job), stop.signal);
  } catch (problem) {
    if (watching?.job === job) showProblem(problem);
  }
  if (watching?.job === job) setRunning(false);
}

/** Stop looking at a job; it goes on without us. */
export function leave() {
  watching?.stop.abort();
  watching = null;
  setRunning(false);
}

export const watched = () => watching?.job ?? null;

/** Ask the server to stop the walk; what happens then comes as an event. */
export async function cancel() {
  if (!watching || document.body.dataset.running !== "yes") return;
  at("cancel").disabled = true;
  setState("Stopping at the next step …");
  watching.isStopping = true;
  try {
    await cancelJob(watching.job.job);
  } catch (problem) {
    if (watching) watching.isStopping = false;
    showProblem(problem);
  } finally {
    at("cancel").disabled = false;
  }
}

function setUp(job) {
  const methods = job.methods;
  const isAlone = methods.length === 1;
  offerViews(isAlone);
  columns = new Map(methods.map((name) => [name, new Column(labelOf(info.methods, name), isAlone, view)]));
  at("columns").className = `n${methods.length}`;
  at("columns").replaceChildren(...[...columns.values()].map((column) => column.element));
  at("tools").hidden = true;
  showAsked(job);
  at("state").textContent = "Begins …";
  setRunning(true);
}

/** Until a walk has something to show, show what it starts from. */
export const showPicture = (source) => columns.forEach((column) => column.wait(source));

function offerViews(isAlone) {
  const choices = Object.entries(VIEWS).filter(([name]) => !isAlone || name !== "overlay"); // alone it has its own place
  if (isAlone && view === "overlay") view = "glow";
  if (!isAlone && view === "glow") view = "overlay"; // says most at a glance
  makeChoice(at("views"), "view", choices.map(([name, [words]]) => [name, words]), view, chooseView);
}

/** Show this picture of every answer. */
export function chooseView(name) {
  const input = at("views").querySelector(`input[value="${name}"]`);
  if (!input) return;
  view = name;
  input.checked = true;
  columns.forEach((column) => column.choose(name));
}

/** The first views' names, as they stand on the page. */
export const listViews = () => [...at("views").querySelectorAll("input")].map((input) => input.value);

function showAsked({ label, said }) {
  at("asked").textContent = label ? `Why ${label}?` : "Why?";
  showHeading(label ? `${label}?` : "that?", said);
}

/** What is asked of the model; of a class that is not its answer, why it would say so. */
export function showHeading(words = "that?", said = true) {
  at("did").textContent = said ? "did" : "would";
  at("said").textContent = words;
}

function take(event, job) {
  const act = { queued, started, progress, result, failed, cancelled, done, asked: started }[event.type];
  if (event.method) columns.get(event.method)?.take(event);
  act?.(event, job);
}

/** Say how far the job is; once it is being stopped, nothing else is worth saying. */
function setState(words) {
  if (!watching?.isStopping) at("state").textContent = words;
}

function queued({ ahead }) {
  setState(ahead ? `Waits for ${ahead} other${ahead > 1 ? "s" : ""} …` : "Begins …");
}

function started({ label, said }, job) {
  if (label) showAsked(Object.assign(job, { label, said }));
  setState("Walking …");
}

function progress({ share, method }) {
  const shares = [...columns].map(([name, column]) => (name === method ? (share ?? 0) : column.bar.hidden ? 1 : column.bar.value));
  const whole = shares.reduce((sum, one) => sum + one, 0) / columns.size;
  setState(`Walking … ${percent(whole)}`);
  const quarter = Math.floor(4 * whole);
  if (quarter > told && quarter < 4) say(`${25 * (told = quarter)} percent done`);
}

function result({ result, method }, job) {
  if (result.label) showAsked(Object.assign(job, { label: result.label }));
  if (result.final === false) return;
  at("tools").hidden = false;
  tell("answer", { job, method });
}

function failed({ error, method }, job) {
  if (method) return; // its column says so, and the others go on
  columns.forEach((column) => column.end("failed", "failed"));
  showProblem(new Error(error));
  finish("It failed.", job);
}

function cancelled(_, job) {
  columns.forEach((column) => column.end("stopped", "stopped"));
  finish("Stopped.", job);
}

function done(_, job) {
  const sentences = [...columns.values()].find(({ result }) => result)?.result.sentences ?? [];
  finish(sentences[0] ?? "", job, sentences.join(" ") || "Done"); // what the model says is the same for all methods
}

function finish(words, job, spoken = words) {
  at("state").textContent = words || at("asked").textContent;
  at("tools").hidden = ![...columns.values()].some((column) => column.result);
  say(spoken);
  setRunning(false);
  tell("over", job);
}

function setRunning(isRunning) {
  document.body.dataset.running = isRunning ? "yes" : "no";
  at("why").hidden = isRunning;
  at("cancel").hidden = !isRunning;
}
