// Every result as a file, and as the Python lines that make it again.

import { fetchFile } from "./api.js";
import { at, make, makeButton, showProblem } from "./dom.js";
import { info, labelOf } from "./state.js";

const KINDS = { png: "Picture (PNG)", html: "Page (HTML)", npz: "Arrays (npz)", samp: "Result (.samp)", py: "Python lines" };

/** Offer the files of a job's finished methods. */
export function offerExport(job, methods) {
  const rows = methods.map((method) => {
    const buttons = Object.entries(KINDS).map(([kind, words]) =>
      makeButton(words, () => take(job, method, kind), { "data-kind": kind, "data-method": method }),
    );
    return make("div", { role: "group", "aria-label": labelOf(info.methods, method) }, ...(methods.length > 1 ? [make("h3", {}, labelOf(info.methods, method))] : []), ...buttons);
  });
  at("export").querySelector("div").replaceChildren(...rows);
}

export function setUpExport() {
  const menu = at("export");
  addEventListener("click", (event) => menu.contains(event.target) || (menu.open = false));
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    event.stopPropagation();
    menu.open = false;
    menu.firstElementChild.focus();
  });
  at("copy").addEventListener("click", copy);
}

async function take(job, method, kind) {
  at("export").open = false;
  showProblem();
  try {
    const blob = await fetchFile(job.job, `${method}.${kind}`);
    if (kind === "py") showLines(await blob.text());
    else save(blob, `${job.photo.name.replace(/\.\w+$/, "")}-${method.replaceAll("+", "p")}.${kind}`);
  } catch (problem) {
    showProblem(problem);
  }
}

function save(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

function showLines(text) {
  at("lines").querySelector("code").textContent = text;
  at("copy").textContent = "Copy";
  at("lines").showModal();
}

async function copy() {
  const code = at("lines").querySelector("code");
  try {
    await navigator.clipboard.writeText(code.textContent);
    at("copy").textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(code); // a page that is not on localhost may not copy
    at("copy").textContent = "Selected: press Ctrl+C";
  }
}
