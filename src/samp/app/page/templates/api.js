// The only module that speaks with the server: JSON, streams of events, files. Refusals come as sentences.

const token = new URLSearchParams(location.search).get("token") ?? "";
const GONE = "samp does not answer: see whether `samp app` is still running, and start it again if it is not; its new address is printed there.";
const LAST = new Set(["done", "failed", "cancelled"]);
const TRIES = 6; // connections in a row that bring nothing

/** What the server, or the way to it, has against a request: one sentence. */
export class Refusal extends Error {
  constructor(sentence, status) {
    super(sentence);
    this.status = status;
  }
}

async function request(path, options = {}) {
  let response;
  try {
    response = await fetch(path, { ...options, cache: "no-store", headers: { "X-Samp-Token": token, ...options.headers } });
  } catch (error) {
    throw error.name === "AbortError" ? error : new Refusal(GONE, 0);
  }
  if (!response.ok) throw new Refusal(await readSentence(response), response.status);
  return response;
}

async function readSentence(response) {
  const unknown = `samp answered ${response.status} without a reason; its terminal may say more.`;
  return response.json().then((answer) => answer.error ?? unknown, () => unknown);
}

export const get = async (path) => (await request(path)).json();

export async function post(path, value, options = {}) {
  const headers = { "Content-Type": "application/json" };
  return (await request(path, { method: "POST", body: JSON.stringify(value), headers, ...options })).json();
}

export const cancelJob = (job) => request(`api/jobs/${job}`, { method: "DELETE" });

/** Send a photo as it is; the server decides whether it is one. */
export async function sendPhoto(file) {
  const headers = { "Content-Type": "application/octet-stream", "X-Samp-Name": encodeURIComponent(file.name || "pasted picture") };
  return (await request("api/photos", { method: "POST", body: file, headers })).json();
}

/** Fetch a file of a job, as a blob. */
export const fetchFile = async (job, name) => (await request(`api/jobs/${job}/export/${encodeURIComponent(name)}`)).blob();

/**
 * Give every event of a job to `take`, in order and once; ends after the last event, or when `signal` says so.
 * A connection that breaks is opened again where it broke.
 */
export async function follow(job, take, signal) {
  let after = 0;
  for (let failures = 0; failures < TRIES; failures++) {
    try {
      const response = await request(`api/jobs/${job}/events?after=${after}`, { signal });
      for await (const event of readLines(response.body)) {
        if (event.n <= after) continue;
        after = event.n;
        failures = 0;
        take(event);
        if (LAST.has(event.type) && !event.method) return;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error.status >= 400) throw error;
      if (!(error instanceof Refusal || error instanceof TypeError)) throw error; // ours, not the network's
    }
    await new Promise((go) => setTimeout(go, 100 * 2 ** failures));
  }
  throw new Refusal(GONE, 0);
}

/** The values of a stream with one JSON text a line. */
async function* readLines(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      for (const line of lines) if (line.trim()) yield JSON.parse(line);
    }
  } finally {
    reader.cancel().catch(() => {}); // nobody reads on: let go of the connection
  }
}
