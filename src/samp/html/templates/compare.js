// Pointing at a method, or stepping onto it, shows it everywhere; pressing keeps it. Headings sort the table.

const { methods } = JSON.parse(document.getElementById("facts").textContent);
const main = document.querySelector("main");
const all = (selector) => [...document.querySelectorAll(selector)];
const methodOf = (target) => target.closest?.("[data-method]")?.dataset.method ?? null;
const number = (value) => (value === null ? "no curve" : value.toFixed(3).replace("-", "−"));

// ---- one method, everywhere

const readings = all(".reading").map((reading) => ({ reading, words: reading.textContent }));
let kept = null;

function show(method) {
  main.classList.toggle("some", method !== null);
  for (const part of all("[data-method]")) part.classList.toggle("on", part.dataset.method === method);
  for (const { reading, words } of readings) {
    if (method === null) {
      reading.textContent = words;
    } else {
      const { name, [reading.dataset.of]: area } = methods[method];
      const bold = document.createElement("b");
      bold.textContent = `${name}: ${number(area)}`;
      reading.replaceChildren(bold, `, ${words}`);
    }
  }
}

function keep(method) {
  kept = method;
  for (const chip of all(".chip")) chip.setAttribute("aria-pressed", chip.dataset.method === kept);
  show(kept);
}

for (const [event, leaves] of [["mouseover", "mouseout"], ["focusin", "focusout"]]) {
  document.addEventListener(event, ({ target }) => methodOf(target) !== null && show(methodOf(target)));
  document.addEventListener(leaves, ({ target }) => methodOf(target) !== null && show(kept));
}
document.addEventListener("click", ({ target }) => {
  const method = methodOf(target);
  if (method !== null && !target.closest("details")) keep(method === kept ? null : method);
});
document.addEventListener("keydown", ({ key }) => key === "Escape" && keep(null));

// ---- the table

const body = document.querySelector("#numbers tbody");
const heads = all("#numbers thead th");

/** By one column; what has no value stays last, whichever way. */
function sort(column, descending) {
  const value = (row) => row.children[column].dataset.value;
  const ahead = (a, b) => (value(a) === "") - (value(b) === "") || (descending ? -1 : 1) * (value(a) - value(b));
  body.append(...[...body.children].sort(ahead));
  heads.forEach((head, i) =>
    i === column ? head.setAttribute("aria-sort", descending ? "descending" : "ascending") : head.removeAttribute("aria-sort"),
  );
}

heads.forEach((head, column) =>
  head.querySelector("button").addEventListener("click", () => {
    const before = head.getAttribute("aria-sort");
    sort(column, before ? before === "ascending" : head.dataset.better === "higher"); // the best first
  }),
);

// ---- light or dark

document.getElementById("theme").addEventListener("click", () => {
  const { dataset } = document.documentElement;
  const dark = dataset.theme ? dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  dataset.theme = dark ? "light" : "dark";
});
