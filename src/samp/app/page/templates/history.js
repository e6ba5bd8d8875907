// What was explained since samp was started, in any tab.

import { get } from "./api.js";
import { at, make, makeButton, showProblem } from "./dom.js";
import { info, labelOf } from "./state.js";

const WORDS = { queued: "waits", started: "runs", running: "runs", failed: "failed", cancelled: "stopped" };
const others = new BroadcastChannel("samp");
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
  at("history").querySelectorAll("button").forEach((button) => setCurrent(button));
}

const setCurrent = (button) =>
  button.dataset.job === current ? button.setAttribute("aria-current", "true") : button.removeAttribute("aria-current");

async function refresh() {
  try {
    const { jobs } = await get("api/jobs");
    at("history").hidden = !jobs.length;
    at("history").querySelector("ol").replaceChildren(...jobs.map((job) => make("li", {}, makeEntry(job))));
  } catch (problem) {
    showProblem(problem);
  }
}

function makeEntry(job) {
  const methods = job.methods.map((name) => labelOf(info.methods, name)).join(", ");
  const words = [methods, job.quality === info.quality ? "" : job.quality, WORDS[job.state]].filter(Boolean);
  const button = makeButton(make("img", { src: job.photo.thumb, alt: "" }), () => open(job), { "data-job": job.job, title: `${job.photo.name}, ${labelOf(info.models, job.model)}, seed ${job.seed}` });
  button.append(make("strong", {}, job.label ?? job.photo.name), make("span", { class: "quiet" }, words.join(" · ")));
  setCurrent(button);
  return button;
}
