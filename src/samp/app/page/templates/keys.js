// Keys: one table, which is also the list in the help.

import { at, make } from "./dom.js";

/** Take these keys: rows of [key, words, what it does, words for the key]. A key typed into a field stays there. */
export function setUpKeys(table) {
  const acts = new Map(table.map(([key, , act]) => [key, act]));
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (isTaken(event.target, event.key)) return;
    const act = acts.get(event.key);
    if (!act) return;
    event.preventDefault();
    act(event);
  });
  at("key-list").replaceChildren(...table.filter(([, words]) => words).map(([key, words, , name]) => make("div", {}, make("dt", {}, make("kbd", {}, name ?? key)), make("dd", {}, words))));
}

/** Whether what has the focus needs the key itself. */
function isTaken(target, key) {
  if (key === "Escape") return false;
  if (target.matches("input:not([type=radio], [type=range]), select, textarea")) return key !== "Enter" || target.id === "search";
  return key === "Enter" && target.matches("button, summary, a");
}
