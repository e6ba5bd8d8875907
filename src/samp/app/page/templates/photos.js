// Ways to a photo: drop, paste, a file, or one that comes with samp.

import { sendPhoto } from "./api.js";
import { at, make, makeButton, say, showProblem } from "./dom.js";
import { info } from "./state.js";

const MEGA = 1e6;

/** Offer every way to a photo; `take` gets what the server knows of the chosen one. */
export function offerPhotos(take) {
  const upload = async (file) => {
    let photo = null;
    showProblem();
    try {
      check(file);
      document.body.classList.add("busy");
      say(`Reading ${file.name || "the picture"}`);
      photo = await sendPhoto(file);
    } catch (problem) {
      showProblem(problem);
    } finally {
      document.body.classList.remove("busy");
    }
    if (photo) take(photo); // which is busy on its own account, with the model's answer
  };
  at("samples").replaceChildren(...info.photos.map((photo) => makeSample(photo, take)));
  document.body.classList.toggle("demo", info.demo);
  if (info.demo) at("try").textContent = "Try one of these";
  at("choose").addEventListener("click", openFile);
  at("file").addEventListener("change", ({ target }) => {
    if (target.files.length) upload(target.files[0]);
    target.value = ""; // so that the same file can be chosen again
  });
  acceptDrops(upload);
  addEventListener("paste", (event) => {
    const file = [...event.clipboardData.files][0];
    if (file) upload(file);
  });
}

export const openFile = () => at("file").click();

/** Refuse here what the server would refuse after a long upload. */
function check(file) {
  if (info.demo) throw new Error("This public demo explains its own photos only: install samp to explain yours.");
  if (info.limits.bytes && file.size > info.limits.bytes) {
    const [size, most] = [file.size, info.limits.bytes].map((bytes) => (bytes / MEGA).toFixed(1));
    throw new Error(`${file.name} has ${size} MB, and samp takes photos of up to ${most} MB: save it smaller.`);
  }
  if (file.size === 0) throw new Error(`${file.name} is empty: choose a photo.`);
}

function makeSample(photo, take) {
  const picture = make("img", { src: photo.thumb, alt: "" });
  const button = makeButton(picture, () => take(photo), { "data-photo": photo.id, title: photo.credit });
  button.append(make("span", {}, photo.name.replace(/\.\w+$/, "")));
  return button;
}

function acceptDrops(upload) {
  let inside = 0; // a child that is entered counts before its parent is left
  const mark = (by) => document.body.classList.toggle("dropping", (inside = Math.max(0, inside + by)) > 0);
  const isOurs = (event) => [...event.dataTransfer.types].includes("Files");
  addEventListener("dragenter", (event) => isOurs(event) && mark(1));
  addEventListener("dragleave", (event) => isOurs(event) && mark(-1));
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    mark(-inside);
    const file = event.dataTransfer.files[0];
    if (file) upload(file);
    else showProblem(new Error("What was dropped is a link or a text, not a file: save the picture, and drop the file."));
  });
}
