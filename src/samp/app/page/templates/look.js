// Light or dark, as it was chosen last; the shared theme.js, which follows, has the button.

const root = document.documentElement;
const kept = localStorage.getItem("samp-theme");
if (kept === "light" || kept === "dark") root.dataset.theme = kept;
new MutationObserver(() => localStorage.setItem("samp-theme", root.dataset.theme)).observe(root, { attributeFilter: ["data-theme"] });
