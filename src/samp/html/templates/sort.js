// ---- the headings of a sortable table sort it: the best first, then the other way round

for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];

  /** Sort by one column; rows without a value stay last either way. */
  const sort = (column, descending) => {
    const value = (row) => row.cells[column].dataset.value;
    const compare = (a, b) => (value(a) === "") - (value(b) === "") || (descending ? -1 : 1) * (value(a) - value(b));
    body.append(...[...body.rows].sort(compare));
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
