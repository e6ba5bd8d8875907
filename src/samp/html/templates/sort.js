// ---- headings sort the table: the best first, then the other way round

{
  const body = document.querySelector("#numbers tbody");
  const heads = [...document.querySelectorAll("#numbers thead th")];

  /** Sort by one column; rows without a value stay last either way. */
  const sort = (column, descending) => {
    const value = (row) => row.children[column].dataset.value;
    const compare = (a, b) => (value(a) === "") - (value(b) === "") || (descending ? -1 : 1) * (value(a) - value(b));
    body.append(...[...body.children].sort(compare));
    heads.forEach((head, i) =>
      i === column ? head.setAttribute("aria-sort", descending ? "descending" : "ascending") : head.removeAttribute("aria-sort"),
    );
  };

  heads.forEach((head, column) =>
    head.querySelector("button").addEventListener("click", () => {
      const before = head.getAttribute("aria-sort");
      sort(column, before ? before === "ascending" : head.dataset.better === "higher");
    }),
  );
}

