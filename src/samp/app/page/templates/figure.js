// A picture with a caption; as wide as its shape asks for, so that pictures in a row have one height.

import { make } from "./dom.js";

/** Return the element, and a function that shows a picture (a data URI, or nothing) with these words. */
export function makeFigure(kind) {
  const image = make("img", { alt: "", decoding: "sync" });
  const caption = make("figcaption", { class: "quiet" });
  const figure = make("figure", { class: kind, hidden: true }, image, caption);
  image.addEventListener("load", () => figure.style.setProperty("--shape", image.naturalWidth / image.naturalHeight));
  const show = (source, words = "") => {
    figure.hidden = !source;
    if (source && image.src !== source) image.src = source;
    image.alt = words;
    caption.textContent = words;
  };
  return { figure, show };
}
