/* Search in pages opened from disk, where browsers start no worker: its script runs in a hidden frame instead. */
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    #waiting = [];
    #inside = null;

    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.addEventListener("load", () => this.#start(frame, String(address)), { once: true });
      document.body.append(frame);
    }

    #start(frame, address) {
      const inside = frame.contentWindow;
      // what the script sends as a worker would come back to itself here, since it is a window
      inside.postMessage = data => this.#emit(data);
      const script = inside.document.createElement("script");
      script.src = address;
      script.onload = () => {
        this.#inside = inside;
        this.#waiting.splice(0).forEach(data => this.postMessage(data));
      };
      inside.document.body.append(script);
    }

    // Both ways data is copied and arrives later, as with a worker: who sends must not be called back while sending.
    #emit(data) {
      const event = new MessageEvent("message", { data: structuredClone(data) });
      setTimeout(() => {
        this.dispatchEvent(event);
        this.onmessage?.(event);
      });
    }

    postMessage(data) {
      if (this.#inside === null) this.#waiting.push(data);
      else {
        const event = new this.#inside.MessageEvent("message", { data: structuredClone(data) });
        setTimeout(() => this.#inside.dispatchEvent(event));
      }
    }

    terminate() {}
  };
}
