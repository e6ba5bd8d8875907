// How it is explained: methods (up to four), quality, model and seed.

import { at, capital, make, makeButton, makeChoice, tell } from "./dom.js";
import { describeMethod, info, labelOf, MOST_METHODS, question } from "./state.js";

/** Draw the form's lower half; `predict` is called when another model is to look at the photo. */
export function offerOptions(predict) {
  question.model ||= info.model;
  question.quality ||= info.quality ?? "standard";
  if (!question.methods.length) question.methods = [(info.methods.find((one) => one.by_default) ?? info.methods[0]).name];
  at("model").replaceChildren(...info.models.map(({ name, label }) => make("option", { value: name }, label ?? name)));
  at("model").addEventListener("change", () => {
    question.model = at("model").value;
    question.target = null; // classes are numbered otherwise
    predict();
  });
  at("seed").addEventListener("change", () => {
    question.seed = Math.max(0, Math.trunc(at("seed").valueAsNumber || 0));
    at("seed").value = question.seed;
  });
  at("options").open = innerWidth > 860;
  showOptions();
}

/** Write what is asked into the form. */
export function showOptions() {
  at("model").value = question.model;
  at("seed").value = question.seed;
  const qualities = info.qualities.map((one) => (typeof one === "string" ? [one, capital(one)] : [one.name, capital(one.name), one.line]));
  makeChoice(at("qualities").querySelector(".choice"), "quality", qualities, question.quality, (name) => (question.quality = name));
  drawMethods();
}

/** Add one more method to compare; does nothing if there are four already. */
export function addMethod() {
  const other = info.methods.find((one) => one.walks && !question.methods.includes(one.name));
  if (question.methods.length >= MOST_METHODS || !other) return;
  at("options").open = true;
  question.methods = [...question.methods, other.name];
  drawMethods();
  at("methods").querySelector("p:last-of-type select").focus();
}

function drawMethods() {
  const rows = question.methods.map(makeRow);
  const more = makeButton("+ Compare with another", addMethod, { class: "plain", title: "Compare with another (c)" });
  at("methods").replaceChildren(...rows, ...(question.methods.length < MOST_METHODS ? [more] : []));
  tell("methods", question.methods);
}

function makeRow(name, place) {
  const select = make("select", { id: `method-${place}` }, ...listMethods(name));
  select.addEventListener("change", () => {
    question.methods = question.methods.map((old, other) => (other === place ? select.value : old));
    drawMethods();
    at(select.id).focus();
  });
  const remove = makeButton("×", () => {
    question.methods = question.methods.filter((_, other) => other !== place);
    drawMethods();
    at(`method-${Math.max(0, place - 1)}`).focus();
  }, { class: "plain", "aria-label": `Leave out ${labelOf(info.methods, name)}` });
  const label = make("label", { for: select.id }, place ? "and" : "Method");
  const method = info.methods.find((one) => one.name === name);
  select.title = method?.line ?? "";
  return make("p", { class: question.methods.length > 1 ? "pair three" : "pair" }, label, select, ...(question.methods.length > 1 ? [remove] : []), make("small", { class: "quiet" }, describeMethod(method)));
}

/** The methods that can be chosen in a row: those whose walk can be watched first. */
function listMethods(chosen) {
  const groups = [["A walk to watch", (one) => one.walks], ["No walk", (one) => !one.walks]];
  return groups.map(([label, belongs]) => {
    const options = info.methods
      .filter((one) => belongs(one) && (one.name === chosen || !question.methods.includes(one.name)))
      .map((one) => make("option", { value: one.name, selected: one.name === chosen }, one.label));
    return make("optgroup", { label }, ...options);
  });
}
