// ---- where the reader is: the last section that began above the upper third of the window

const contents = document.getElementById("contents");
const links = [...contents.querySelectorAll("a")];
const places = links.map((link) => document.getElementById(link.hash.slice(1)));
let marked;

function mark() {
  const above = places.filter((place) => place.getBoundingClientRect().top < innerHeight / 3);
  const atEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 2; // short last sections never rise that far
  const here = links[atEnd ? links.length - 1 : Math.max(above.length - 1, 0)];
  if (here === marked) return;
  marked?.removeAttribute("aria-current");
  here.setAttribute("aria-current", "true");
  contents.scrollTo({ left: here.offsetLeft - 16, top: here.offsetTop - contents.clientHeight / 2 });
  marked = here;
}

addEventListener("scroll", mark, { passive: true });
addEventListener("resize", mark);
mark();
