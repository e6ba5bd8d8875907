// What is asked, and where in the address it is kept: a refresh finds the photo or the job again.

/** Everything that makes up one job; the modules of the form write into it. */
export const question = { photo: null, model: "", target: null, methods: [], quality: "", seed: 0 };

/** What the server said about itself. */
export const info = { models: [], methods: [], qualities: [], photos: [], limits: {}, demo: false };

export const MOST_METHODS = 4;

/** The photo or the job that the address names. */
export function readAddress() {
  const words = new URLSearchParams(location.hash.slice(1));
  return { job: words.get("job"), photo: words.get("photo") };
}

/** Name a photo or a job in the address; the browser's back button leads to the one before. */
export function writeAddress(place) {
  const hash = `#${new URLSearchParams(place)}`;
  if (hash !== (location.hash || "#")) history.pushState(null, "", hash === "#" ? location.pathname + location.search : hash);
}

/** What a visitor sees of a method, in plain words. */
export const describeMethod = ({ walks } = {}) => (walks ? "You can watch it walk." : "It takes no walk.");

/** What the server has under this name in one of its lists. */
export const labelOf = (list, name) => list.find((one) => one.name === name)?.label ?? name;
