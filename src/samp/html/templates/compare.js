// ---- pointing at a method, or moving the focus to it, highlights it everywhere; pressing keeps it

const { methods } = JSON.parse(document.getElementById("facts").textContent);
const main = document.querySelector("main");
const all = (selector) => [...document.querySelectorAll(selector)];
const methodOf = (target) => target.closest?.("[data-method]")?.dataset.method ?? null;
const number = (value) => (value === null ? "no curve" : value.toFixed(3).replace("-", "−"));

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
