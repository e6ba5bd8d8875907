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

/** The sentences of a result: the last one, what follows from it all, is large. */
export const makeSentences = (sentences) =>
  sentences.map((words, place) => make("p", { class: place < sentences.length - 1 ? "quiet" : "sentence" }, words));

/** What else is to be known of a result. */
export const makeNotes = (notes) =>
  notes?.length ? make("details", { class: "made" }, make("summary", {}, "How it was made"), ...notes.map((words) => make("p", { class: "quiet" }, words))) : "";

/** How much of the score change the credit misses; where it is much, in words too. */
function residualOf({ residual_words: words, adds_up: addsUp }) {
  const short = words?.replace(/ \(.*/, "").replace(" a score change of", "").replace("-", "−");
  return short == null || addsUp ? short : `${short}: its credit does not add up`;
}

/** How a result was made, and what it misses. */
export function makeFacts(result, method) {
  const rows = [
    ["Method", method],
    ["Explained", `${result.label}${result.index == null ? "" : ` (${result.index})`}`],
    [`Score${result.score_is ? `, the ${result.score_is}` : ""}`, result.score == null ? null : number(result.score)],
    ["Residual", residualOf(result)],
    ["Reproducible at", result.resolution > 0 ? `${result.resolution} px` : result.resolution === 0 ? "each pixel" : null],
    ["Mean of", result.walks > 1 ? `${result.walks} walks` : null],
    ["Cost", [`${result.gradients ?? "–"} gradients`, result.seconds == null ? null : `${result.seconds.toFixed(1)} s`].filter(Boolean).join(", ")],
  ];
  const shown = rows.filter(([, value]) => value != null);
  return make("dl", { class: "facts" }, ...shown.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
}
