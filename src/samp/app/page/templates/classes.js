// Which class is explained: one of the model's best five, or any other by name.

import { get } from "./api.js";
import { at, make, percent, number, showProblem, tell } from "./dom.js";
import { question } from "./state.js";

const PAUSE = 120; // milliseconds without a key before the server is asked
let best = [];
let extra = null; // a class from the search, below the best
let found = [];
let marked = -1;
let waiting = 0;
let asked = 0; // answers to older questions are dropped

/** Show the classes of a prediction; the first is the one explained unless another is chosen. */
export function showClasses(top) {
  best = top;
  extra = null;
  at("search").value = "";
  close();
  draw();
}

/** The class that will be explained; null before the model has said anything. */
export const chosenClass = () =>
  [...best, ...(extra ? [extra] : [])].find((one) => one.index === question.target) ?? best[0] ?? null;

/** Choose a class that may not be among the best five. */
export function chooseClass(one) {
  extra = best.some(({ index }) => index === one.index) ? extra : one;
  question.target = one.index;
  draw();
}

function draw() {
  const chosen = chosenClass();
  at("top").replaceChildren(...[...best, ...(extra ? [extra] : [])].map((one) => row(one, one === chosen)));
  tell("class", chosen);
}

function row(one, isChosen) {
  const input = make("input", { type: "radio", name: "class", value: one.index, checked: isChosen });
  input.addEventListener("change", () => {
    question.target = one.index;
    tell("class", one);
  });
  const value = one.probability != null ? percent(one.probability) : one.score != null ? number(one.score) : "";
  const bar = make("b");
  bar.style.width = `${100 * (one.probability ?? 0)}%`;
  return make("label", { class: "class" }, input, make("span", {}, one.label), make("span", {}, value), make("i", {}, bar));
}

// ---- search

export function offerSearch() {
  const box = at("search");
  box.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(search, PAUSE);
  });
  box.addEventListener("keydown", (event) => {
    const act = { ArrowDown: () => mark(marked + 1), ArrowUp: () => mark(marked - 1), Enter: take, Escape: close }[event.key];
    if (!act || (event.key === "Escape" && at("found").hidden)) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  });
  box.addEventListener("blur", close);
}

async function search() {
  const words = at("search").value.trim();
  const mine = ++asked;
  if (!words) return close();
  try {
    const { classes } = await get(`api/classes?${new URLSearchParams({ model: question.model, q: words })}`);
    if (mine === asked) list(classes, words);
  } catch (problem) {
    showProblem(problem);
  }
}

function list(classes, words) {
  found = classes;
  const options = classes.map((one, place) => {
    const option = make("li", { role: "option", id: `found-${place}` }, one.label);
    option.addEventListener("mousedown", (event) => {
      event.preventDefault(); // or the box loses the focus, and the list closes before the click
      mark(place);
      take();
    });
    return option;
  });
  at("found").replaceChildren(...(options.length ? options : [make("li", { class: "quiet" }, `No class has “${words}” in its name`)]));
  at("found").hidden = false;
  at("search").setAttribute("aria-expanded", "true");
  mark(0);
}

function mark(place) {
  marked = found.length ? (place + found.length) % found.length : -1;
  [...at("found").children].forEach((option, at) => option.setAttribute("aria-selected", at === marked));
  const option = at("found").children[marked];
  if (option && found.length) {
    at("search").setAttribute("aria-activedescendant", option.id);
    option.scrollIntoView({ block: "nearest" });
  }
}

function take() {
  if (marked < 0) return;
  const one = found[marked];
  at("search").value = "";
  close();
  chooseClass(best.find(({ index }) => index === one.index) ?? one);
}

function close() {
  clearTimeout(waiting);
  asked++;
  [found, marked] = [[], -1];
  at("found").hidden = true;
  at("search").setAttribute("aria-expanded", "false");
  at("search").removeAttribute("aria-activedescendant");
}
