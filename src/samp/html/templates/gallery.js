// ---- the gallery of a run: arrays of numbers for all inputs, cards for one page of them

const facts = JSON.parse(document.getElementById("facts").textContent);
const element = (id) => document.getElementById(id);
const form = element("filters");
const cards = element("cards");
const dialog = element("one");
cards.classList.toggle("alone", !facts.photos);
const most = Number(cards.dataset.most);
const perPack = 256;

// ---- unpacking

/** The bytes that a text of base64 holds compressed. */
async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

/** The arrays of numbers, in the order in which Python packed them. */
async function readNumbers() {
  const content = await unpack(element("numbers").textContent);
  let start = 0;
  const take = (kind, count = facts.count) => {
    const part = new kind(content, start, count);
    start += part.byteLength;
    return part;
  };
  const wholes = ["true", "predicted", "target"].map((name) => [name, take(Int32Array)]);
  const fractions = ["confidence", "error", "gini", "score"].map((name) => [name, take(Float32Array)]);
  return { ...Object.fromEntries([...wholes, ...fractions]), failed: take(Uint8Array) };
}

const packs = element("names").textContent.split(" ");
const unpacked = new Map(); // the packs that were used last

/** The id, file and error of an input. */
async function nameOf(position) {
  const pack = Math.floor(position / perPack);
  if (!unpacked.has(pack)) {
    unpacked.set(pack, unpack(packs[pack]).then((content) => JSON.parse(new TextDecoder().decode(content))));
    if (unpacked.size > 2 * most) unpacked.delete(unpacked.keys().next().value);
  }
  return (await unpacked.get(pack))[position % perPack];
}

// ---- filters and order

const nameOfClass = (number) => (number < 0 ? "–" : (facts.classes[number] ?? `class ${number}`));

/** The numbers of the classes that a text names: the one of that name or number, else all that have it in their names. */
function classesNamed(text) {
  const wanted = text.trim().toLowerCase();
  const all = Object.entries(facts.classes).map(([number, name]) => [Number(number), name.toLowerCase()]);
  const same = all.filter(([number, name]) => name === wanted || String(number) === wanted);
  return new Set((same.length ? same : all.filter(([, name]) => name.includes(wanted))).map(([number]) => number));
}

let pair = null; // of a true and a predicted class

/** Whether an input is shown, for the present values of the form. */
function makeFilter(numbers) {
  const { answer, name, which, sureFrom, sureTo, errorFrom, errorTo } = Object.fromEntries(new FormData(form));
  const { predicted, target, confidence, error, failed } = numbers;
  const tests = [];
  const judged = (i) => numbers.true[i] >= 0 && predicted[i] >= 0;
  const answers = {
    wrong: (i) => judged(i) && numbers.true[i] !== predicted[i],
    right: (i) => judged(i) && numbers.true[i] === predicted[i],
    unlabelled: (i) => numbers.true[i] < 0,
    agreed: (i) => predicted[i] >= 0 && predicted[i] === target[i],
    differed: (i) => predicted[i] >= 0 && predicted[i] !== target[i],
    failed: (i) => failed[i] === 1,
  };
  if (answer in answers) tests.push(answers[answer]);
  if (name.trim()) {
    const classes = classesNamed(name);
    tests.push((i) => classes.has(numbers[which][i]));
  }
  if (pair) tests.push((i) => numbers.true[i] === pair[0] && predicted[i] === pair[1]);
  // a bound leaves out inputs without such a number: a comparison with NaN is false
  if (sureFrom) tests.push((i) => confidence[i] >= sureFrom / 100);
  if (sureTo) tests.push((i) => confidence[i] <= sureTo / 100);
  if (errorFrom) tests.push((i) => error[i] >= errorFrom / 100);
  if (errorTo) tests.push((i) => error[i] <= errorTo / 100);
  return (i) => tests.every((test) => test(i));
}

/** For each order, the number by which inputs are sorted, the largest first. */
const orders = {
  data: null,
  mistakes: (n) => (i) => (n.true[i] >= 0 && n.predicted[i] >= 0 && n.true[i] !== n.predicted[i] ? 1 : -1) + (n.confidence[i] || 0),
  surest: (n) => (i) => n.confidence[i],
  unsure: (n) => (i) => -n.confidence[i],
  residual: (n) => (i) => n.error[i],
  exact: (n) => (i) => -n.error[i],
  even: (n) => (i) => -n.gini[i],
  concentrated: (n) => (i) => n.gini[i],
  score: (n) => (i) => n.score[i],
};

/** The positions of the inputs that are shown, in their order; those without a number come last. */
function select(numbers) {
  const wanted = makeFilter(numbers);
  const found = new Uint32Array(facts.count);
  let count = 0;
  for (let i = 0; i < facts.count; i++) if (wanted(i)) found[count++] = i;
  const positions = found.slice(0, count);
  const key = orders[form.elements.order.value]?.(numbers);
  if (!key) return positions;
  const keys = new Float64Array(facts.count);
  for (const i of positions) keys[i] = Number.isNaN(key(i)) ? -Infinity : key(i);
  return positions.sort((a, b) => (keys[a] === keys[b] ? a - b : keys[a] < keys[b] ? 1 : -1));
}

// ---- drawing

const make = (tag, classes = "", text = "") => Object.assign(document.createElement(tag), { className: classes, textContent: text });
const bidi = (text, tag = "bdi") => make(tag, "", text);
const percent = (share) => (Number.isNaN(share) ? "–" : `${(100 * share).toPrecision(3)}\u00a0%`);
const exponent = (share) => (share < 1e-4 ? `${(100 * share).toExponential(0).replace("-", "−")}\u00a0%` : percent(share));

/** The tile of an input: a part of a picture file, which the browser loads when it comes into sight. */
function tile(position, alt) {
  const box = make("span", "tile");
  const file = Math.floor(position / facts.perFile);
  const place = position % facts.perFile;
  const image = make("img");
  image.alt = alt;
  image.loading = "lazy";
  image.decoding = "async";
  image.style.width = `${100 * facts.across}%`;
  image.style.left = `${-100 * (place % facts.across)}%`;
  image.style.top = `${-100 * Math.floor(place / facts.across)}%`;
  image.src = `tiles/${String(Math.floor(file / 1000)).padStart(3, "0")}/${String(file).padStart(6, "0")}.jpg`;
  box.style.aspectRatio = facts.photos ? "2 / 1" : "1 / 1";
  box.append(image);
  return box;
}

function verdict(numbers, i) {
  const words = make("span", "words");
  const said = make("span");
  if (numbers.failed[i]) {
    said.append(make("b", "wrong", "failed"));
  } else {
    const judged = numbers.true[i] >= 0;
    const right = numbers.true[i] === numbers.predicted[i];
    const mark = judged ? (right ? "✓ " : "✗ ") : "";
    const name = make("b", judged ? (right ? "right" : "wrong") : "", mark);
    name.append(bidi(nameOfClass(numbers.predicted[i])));
    said.append(name, Number.isNaN(numbers.confidence[i]) ? "" : `, ${percent(numbers.confidence[i])}`);
    if (judged && !right) said.append(make("br"), "is ", bidi(nameOfClass(numbers.true[i])));
    if (numbers.target[i] !== numbers.predicted[i]) said.append(make("br"), "map: ", bidi(nameOfClass(numbers.target[i])));
  }
  words.append(said);
  return words;
}

function card(numbers, i) {
  const one = make("button", "one");
  one.type = "button";
  one.dataset.position = i;
  const words = verdict(numbers, i);
  const name = make("span", "quiet", "…");
  words.append(name);
  one.append(tile(i, facts.photos ? "photo and map" : "map"), words);
  nameOf(i).then(([id]) => name.replaceChildren(bidi(id)));
  return one;
}

let positions = new Uint32Array(0);
let page = 0;

function draw(numbers) {
  const pages = Math.max(Math.ceil(positions.length / most), 1);
  page = Math.min(Math.max(page, 0), pages - 1);
  const shown = positions.subarray(page * most, (page + 1) * most);
  cards.replaceChildren(...Array.from(shown, (i) => card(numbers, i)));
  const of = facts.count.toLocaleString("en");
  element("count").textContent = positions.length ? `${positions.length.toLocaleString("en")} of ${of} inputs` : `None of ${of} inputs is like that.`;
  element("number").value = page + 1;
  element("number").max = pages;
  element("pages").textContent = `of ${pages.toLocaleString("en")}`;
  element("back").disabled = page === 0;
  element("forward").disabled = page === pages - 1;
}

// ---- one input in large

const quote = (text) => (/^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

function commandsFor(numbers, i, path) {
  const fill = (words) =>
    words.replace(/\{(photo|target|true)\}/g, (_, name) => (name === "photo" ? quote(path) : String(numbers[name][i])));
  const { play, explain, against } = facts.commands;
  const wrong = numbers.true[i] >= 0 && numbers.true[i] !== numbers.predicted[i] && numbers.target[i] === numbers.predicted[i];
  return [
    ["Play its path:", play],
    ["Explain it anew, in full size:", explain],
    ["Why not the true class:", wrong ? against : ""],
  ].flatMap(([title, words]) => (words ? [[title, fill(words)]] : []));
}

let opened = -1; // the place among the positions

async function open(numbers, place) {
  opened = place;
  const i = positions[place];
  const [id, path, error] = await nameOf(i);
  if (place !== opened) return;
  element("one-title").replaceChildren(bidi(id));
  element("large").replaceChildren(tile(i, facts.photos ? `photo and map of ${id}` : `map of ${id}`));
  const rows = numbers.failed[i]
    ? [["failed", error ?? ""]]
    : [
        ["predicted", nameOfClass(numbers.predicted[i])],
        ...(facts.labelled ? [["true", nameOfClass(numbers.true[i])]] : []),
        ["map explains", nameOfClass(numbers.target[i])],
        ["confidence", percent(numbers.confidence[i])],
        ["score", numbers.score[i].toPrecision(4)],
        ["residual", Number.isNaN(numbers.error[i]) ? "–" : exponent(numbers.error[i])],
        ["concentration", `Gini ${numbers.gini[i].toFixed(3)}`],
      ];
  element("about").replaceChildren(...rows.flatMap(([term, text]) => [make("dt", "", term), bidi(text, "dd")]));
  const commands = numbers.failed[i] || !path ? [] : commandsFor(numbers, i, path);
  const none = numbers.failed[i] ? "" : "The model is needed to play its path or to see it in full size: use samp play and samp explain on its photo.";
  element("type").replaceChildren(
    ...(commands.length ? commands.flatMap(([title, words]) => [make("p", "", title), make("code", "", words)]) : [make("p", "", none)]),
  );
  element("former").disabled = place === 0;
  element("latter").disabled = place === positions.length - 1;
  if (!dialog.open) dialog.showModal();
}

// ---- what the user does

async function start() {
  const numbers = await readNumbers();
  const turn = (to) => {
    page = to;
    draw(numbers);
  };
  const refresh = () => {
    positions = select(numbers);
    turn(0);
  };
  const keepPair = (chosen) => {
    pair = chosen ? [Number(chosen.dataset.true), Number(chosen.dataset.predicted)] : null;
    for (const chip of document.querySelectorAll(".chip")) chip.setAttribute("aria-pressed", chip === chosen);
  };
  form.addEventListener("input", refresh);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => {
    keepPair(null);
    setTimeout(refresh); // the form has its first values after this event
  });
  element("back").addEventListener("click", () => turn(page - 1));
  element("forward").addEventListener("click", () => turn(page + 1));
  element("number").addEventListener("change", ({ target }) => turn(Math.round(target.value || 1) - 1));
  document.addEventListener("click", ({ target }) => {
    const chip = target.closest(".chip");
    if (chip) {
      keepPair(chip.getAttribute("aria-pressed") === "true" ? null : chip);
      refresh();
    }
    const one = target.closest(".one");
    if (one) open(numbers, positions.indexOf(Number(one.dataset.position)));
  });
  const step = (by) => {
    const place = opened + by;
    if (place >= 0 && place < positions.length) open(numbers, place);
  };
  element("former").addEventListener("click", () => step(-1));
  element("latter").addEventListener("click", () => step(1));
  element("close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", ({ target }) => target === dialog && dialog.close());
  dialog.addEventListener("keydown", ({ key }) => {
    if (key === "ArrowLeft") step(-1);
    if (key === "ArrowRight") step(1);
  });
  if (location.hash === "#mistakes") form.elements.answer.value = "wrong";
  refresh();
}

start().catch((error) => {
  element("trouble").hidden = false;
  element("trouble").textContent = `This browser cannot unpack the numbers of this page (${error.message}): use a version of 2023 or later.`;
});
