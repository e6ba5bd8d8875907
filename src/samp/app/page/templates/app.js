// The page of `samp app`: from a photo to the reasons for the model's answer.

import "./look.js";
import "./theme.js";
import { get, post } from "./api.js";
import { hideBrush, offerBrush, setUpBrush } from "./brush.js";
import { chooseClass, chosenClass, offerSearch, showClasses } from "./classes.js";
import { at, on, percent, showProblem } from "./dom.js";
import { offerExport, setUpExport } from "./export.js";
import { announce, markCurrent, setUpHistory } from "./history.js";
import { setUpKeys } from "./keys.js";
import { addMethod, offerOptions, showOptions } from "./options.js";
import { offerPhotos, openFile } from "./photos.js";
import { info, question, readAddress, writeAddress } from "./state.js";
import { cancel, chooseView, leave, listViews, showHeading, showPicture, watch, watched } from "./stage.js";

let seen = null; // what the model says of the photo: {top, crop, picture, preview}
let predicting = 0;

const setStage = (name) => (at("app").dataset.stage = name);

// ---- from the start to a photo

function showStart() {
  leave();
  hideBrush();
  Object.assign(question, { photo: null, target: null });
  at("start").hidden = false;
  at("question").hidden = at("stage").hidden = true;
  showHeading();
  markCurrent(null);
  setStage("start");
}

function takePhoto(photo) {
  writeAddress({ photo: photo.id });
  return showPhoto(photo);
}

async function showPhoto(photo) {
  leave();
  hideBrush();
  Object.assign(question, { photo, target: null });
  showProblem();
  showForm(photo);
  at("answer").hidden = true;
  at("preview").hidden = false;
  showHeading();
  markCurrent(null);
  setStage("asked");
  await predict();
  if (question.photo === photo) at("why").focus({ preventScroll: true });
}

function showForm(photo) {
  at("start").hidden = true;
  at("question").hidden = at("stage").hidden = false;
  at("thumb").src = photo.thumb;
  at("name").textContent = at("name").title = photo.name;
  at("size").textContent = `${photo.width} × ${photo.height}`;
}

/** Let the model look at the photo; whoever asked before is not answered. */
async function predict() {
  const mine = ++predicting;
  const { photo, model } = question;
  document.body.classList.add("busy");
  seen = null;
  try {
    const answer = await post("api/predict", { photo: photo.id, model });
    if (mine !== predicting) return;
    seen = answer;
    at("says").textContent = `What ${info.models.find((one) => one.name === model)?.label ?? model} says`;
    showClasses(answer.top);
    showPreview(answer, photo);
  } catch (problem) {
    if (mine === predicting) showProblem(problem);
  } finally {
    if (mine === predicting) document.body.classList.remove("busy");
  }
}

function showPreview({ crop, picture, preview, top }, photo) {
  at("whole").src = preview ?? picture;
  document.querySelector(".framed").style.setProperty("--shape", preview ? photo.width / photo.height : 1);
  const [left, above, right, below] = crop;
  const share = { left: left / photo.width, top: above / photo.height, width: (right - left) / photo.width, height: (below - above) / photo.height };
  for (const [name, value] of Object.entries(share)) at("crop").style[name] = `${100 * value}%`;
  at("crop").hidden = !preview || (share.width > 0.995 && share.height > 0.995);
  const sure = top[0].probability == null ? "" : `, ${percent(top[0].probability)}`;
  const whole = at("crop").hidden ? "" : "In the frame: what the model is shown. ";
  at("preview").querySelector("figcaption").textContent = `${whole}Its answer: ${top[0].label}${sure}.`;
}

// ---- from a question to its answer

async function ask() {
  if (!question.photo || at("why").disabled || document.body.dataset.running === "yes") return;
  showProblem();
  at("why").disabled = true;
  const { photo, model, target, methods, quality, seed } = question;
  try {
    const { job } = await post("api/jobs", { photo: photo.id, model, target, methods, quality, seed });
    writeAddress({ job });
    announce();
    const said = target === null || target === seen?.top[0].index;
    show({ job, photo, model, target, methods, quality, seed, label: chosenClass()?.label, said });
  } catch (problem) {
    showProblem(problem);
  } finally {
    at("why").disabled = false;
  }
}

function show(job) {
  hideBrush();
  at("preview").hidden = true;
  at("answer").hidden = false;
  setStage("answer");
  markCurrent(job.job);
  answered.length = 0;
  watch(job);
  if (seen) showPicture(seen.picture);
  if (innerWidth <= 860) scrollTo({ top: 0 });
}

const answered = [];

on("answer", ({ job, method }) => {
  if (!answered.includes(method)) answered.push(method);
  offerExport(job, answered);
});

on("over", (job) => {
  announce();
  if (answered.length && seen) offerBrush(job, seen.picture);
});

/** Show a job of the history, and write its question into the form. */
async function openJob(job) {
  const { photo, model, target = null, methods, quality, seed = 0 } = job;
  Object.assign(question, { photo, model, target, methods: [...methods], quality, seed });
  showProblem();
  showForm(photo);
  showOptions();
  const told = predict().then(() => {
    if (watched() !== job || !seen) return;
    showPicture(seen.picture);
    if (target !== null) chooseClass(seen.top.find(({ index }) => index === target) ?? { index: target, label: job.label ?? `${target}` });
    if (answered.length && document.body.dataset.running === "no") offerBrush(job, seen.picture);
  });
  show(job);
  await told;
}

// ---- the address

async function followAddress() {
  const { job, photo } = readAddress();
  if (job && job === watched()?.job) return;
  try {
    if (job) await openJob(await get(`api/jobs/${encodeURIComponent(job)}`));
    else if (photo) await showPhoto(info.photos.find(({ id }) => id === photo) ?? (await get(`api/photos/${encodeURIComponent(photo)}`)));
    else showStart();
  } catch (problem) {
    showStart();
    showProblem(problem);
  }
}

// ---- everything together

const help = () => at("help-box").showModal();

const KEYS = [
  ["Enter", "Why?", ask],
  ["Escape", "Stop the walk", cancel, "Esc"],
  ["o", "Another photo", () => (info.demo ? back() : openFile())],
  ["/", "Search for a class", () => at("question").hidden || at("search").focus()],
  ["c", "Compare with another method", () => at("question").hidden || addMethod()],
  ...[1, 2, 3, 4, 5].map((place) => [`${place}`, place === 1 ? "Which picture of the answer" : "", () => chooseView(listViews()[place - 1]), "1 – 5"]),
  ["b", "Brush", () => at("brush").hidden || at("canvas").focus()],
  ["e", "Export", () => at("tools").hidden || ((at("export").open = true), at("export").querySelector("button").focus())],
  ["h", "History", () => at("history").querySelector("button")?.focus()],
  ["t", "Light or dark", () => at("theme").click()],
  ["?", "This help", help],
];

function back() {
  writeAddress({});
  showStart();
}

async function start() {
  at("why").addEventListener("click", (event) => (event.preventDefault(), ask()));
  at("question").addEventListener("submit", (event) => (event.preventDefault(), ask()));
  at("cancel").addEventListener("click", cancel);
  at("another").addEventListener("click", back);
  at("help").addEventListener("click", help);
  at("problem").querySelector("button").addEventListener("click", () => showProblem());
  on("class", (one) => (at("why").firstElementChild.textContent = one ? `Why ${one.label}?` : "Why?"));
  addEventListener("popstate", followAddress);
  setUpHistory((job) => {
    writeAddress({ job: job.job });
    openJob(job).catch(showProblem);
  });
  setUpExport();
  setUpBrush();
  offerSearch();
  try {
    Object.assign(info, await get("api/info"));
    offerOptions(predict);
    offerPhotos(takePhoto);
    setUpKeys(KEYS);
    announce();
    followAddress();
  } catch (problem) {
    showProblem(problem);
  }
  document.documentElement.dataset.ready = ""; // everything can be used, whether or not the model has spoken
}

start();
