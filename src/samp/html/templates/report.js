// Headings sort the table of classes; a button changes between light and dark.

const body = document.querySelector("#numbers tbody");
const heads = [...document.querySelectorAll("#numbers thead th")];

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
    sort(column, before ? before === "ascending" : column > 0); // the largest first; classes by their number
  }),
);

document.getElementById("theme").addEventListener("click", () => {
  const { dataset } = document.documentElement;
  const dark = dataset.theme ? dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  dataset.theme = dark ? "light" : "dark";
});
