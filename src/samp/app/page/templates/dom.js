// Small things that every module needs: elements, numbers in words, and who is told of what.

const SVG = new Set(["svg", "path", "line", "text", "circle", "polyline", "rect", "g"]);

export const at = (id) => document.getElementById(id);

/** A new element, HTML or SVG; attributes that are false or null are left out. Texts are never read as HTML. */
export function make(name, attributes = {}, ...children) {
  const element = SVG.has(name) ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== false && value != null) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

/** A button that does something. */
export function makeButton(words, act, attributes = {}) {
  const button = make("button", { type: "button", ...attributes }, words);
  button.addEventListener("click", act);
  return button;
}

/** A row of radio buttons, drawn as one control: `choices` are [value, words]; `take` is called with the chosen value. */
export function makeChoice(place, name, choices, chosen, take) {
  const labels = choices.map(([value, words, title]) => {
    const input = make("input", { type: "radio", name, value, checked: value === chosen });
    input.addEventListener("change", () => take(value));
    return make("label", { title }, input, make("span", {}, words));
  });
  place.querySelectorAll("label").forEach((old) => old.remove());
  place.append(...labels);
}

/** As `samp.plots.answer_rows.format_share` writes a share, but for exact halves: what is not quite 0 or 100 does not look like it. */
export const percent = (share) => (share > 0 && share < 0.01 ? "<1%" : share > 0.99 && share < 1 ? ">99%" : `${Math.round(100 * share)}%`);

export const number = (value) => value.toFixed(Math.abs(value) < 100 ? 2 : 0).replace("-", "−");

export const capital = (words) => words.charAt(0).toUpperCase() + words.slice(1);

const listeners = new Map();

export const on = (what, act) => listeners.set(what, [...(listeners.get(what) ?? []), act]);

export const tell = (what, value) => (listeners.get(what) ?? []).forEach((act) => act(value));

/** Say something to those who listen to the page rather than see it. */
export const say = (words) => (at("live").textContent = words);

/** Show what went wrong, as a sentence; without one, the last problem is over. */
export function showProblem(problem) {
  const box = at("problem");
  box.hidden = !problem;
  box.firstElementChild.textContent = problem?.message ?? "";
  if (problem) box.scrollIntoView({ block: "nearest" });
}
