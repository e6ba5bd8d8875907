// What was explained since samp was started, in any tab.

import { get } from "./api.js";
import { at, make, makeButton, showProblem } from "./dom.js";
import { info, labelOf } from "./state.js";

const WORDS = { queued: "waits", started: "runs", running: "runs", failed: "failed", cancelled: "stopped" };
const others = new BroadcastChannel("samp");
let entries = new Map(); // by the job's id, {element, button, job}
let asked = 0;
let open;

/** Keep the strip up to date; `take` gets the job that is chosen from it. */
export function setUpHistory(take) {
  open = take;
  others.addEventListener("message", refresh);
  document.addEventListener("visibilitychange", () => document.hidden || refresh());
}

/** Something began or ended here: show it, and let other tabs know. */
export function announce() {
  others.postMessage("changed");
  return refresh();
}

let current = null;

/** Mark the job that is on the stage. */
export function markCurrent(job) {
  current = job;
  entries.forEach(setCurrent);
}

const setCurrent = ({ button, job }) =>
  job.job === current ? button.setAttribute("aria-current", "true") : button.removeAttribute("aria-current");

async function refresh() {
  const mine = ++asked;
  try {
    const { jobs } = await get("api/jobs");
    if (mine === asked) show(jobs); // an answer that was overtaken knows less
  } catch (problem) {
    if (mine === asked) showProblem(problem);
  }
}

/** Show these jobs, the newest first. What is there stays where it is, so that it keeps the focus and a click that has begun. */
function show(jobs) {
  const known = entries;
  entries = new Map(jobs.map((job) => [job.job, known.get(job.job) ?? makeEntry(job)]));
  known.forEach(({ element }, id) => entries.has(id) || element.remove());
  const list = at("history").querySelector("ol");
  jobs.forEach((job, place) => {
    const entry = Object.assign(entries.get(job.job), { job });
    describe(entry);
    if (list.children[place] !== entry.element) list.insertBefore(entry.element, list.children[place] ?? null);
  });
  at("history").hidden = !jobs.length;
}

function makeEntry(job) {
  const entry = { job, name: make("strong"), words: make("span", { class: "quiet" }) };
  const title = `${job.photo.name}, ${labelOf(info.models, job.model)}, seed ${job.seed}`;
  entry.button = makeButton(make("img", { src: job.photo.thumb, alt: "" }), () => open(entry.job), { "data-job": job.job, title });
  entry.button.append(entry.name, entry.words);
  entry.element = make("li", {}, entry.button);
  return entry;
}

function describe(entry) {
  const { job } = entry;
  const methods = job.methods.map((name) => labelOf(info.methods, name)).join(", ");
  entry.name.textContent = job.label ?? job.photo.name;
  entry.words.textContent = [methods, job.quality === info.quality ? "" : job.quality, WORDS[job.state]].filter(Boolean).join(" · ");
  setCurrent(entry);
}
