// An answer in words and numbers: a sentence, bars of probabilities, and how it was made.

import { make, number, percent } from "./dom.js";

/** The rows of a small bar chart under a heading; nothing if there are no rows. */
export function makeBars(heading, rows) {
  if (!rows?.length) return "";
  return make("div", { class: "bars" }, make("h3", {}, heading), make("dl", {}, ...rows.map(makeBar)));
}

function makeBar({ label, text, probability, explained, remark }) {
  const words = text ?? (probability == null ? "" : percent(probability));
  const row = make("div", { class: explained ? "explained" : "" }, make("dt", {}, label), make("dd", {}, words));
  if (probability != null) {
    const bar = make("b");
    bar.style.width = `${100 * Math.min(1, Math.max(0.005, probability))}%`;
    row.append(make("dd", { class: "bar" }, bar));
  }
  if (remark) row.append(make("dd", { class: "remark" }, `its answer: ${remark}`));
  return row;
}

/** The sentences of a result: the first one large. */
export const makeSentences = (sentences = []) => sentences.map((words, place) => make("p", { class: place ? "quiet" : "sentence" }, words));

/** How a result was made, and what it misses. */
export function makeFacts(result, method) {
  const rows = [
    ["Method", method],
    ["Explained", `${result.label}${result.index == null ? "" : ` (${result.index})`}`],
    [`Score${result.score_is ? `, the ${result.score_is}` : ""}`, result.score == null ? null : number(result.score)],
    ["Missed of its change", result.residual_words ?? (result.residual == null ? null : number(result.residual))],
    ["Finest detail", typeof result.resolution === "number" ? `${result.resolution} px` : result.resolution],
    ["Cost", [`${result.gradients ?? "–"} gradients`, result.seconds == null ? null : `${result.seconds.toFixed(1)} s`].filter(Boolean).join(", ")],
  ];
  if (result.walks > 1) rows.push(["Mean of", `${result.walks} walks`]);
  const shown = rows.filter(([, value]) => value != null);
  return make("dl", { class: "facts" }, ...shown.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
}
