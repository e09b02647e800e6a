/** Server-sent events: text in, frames out (https://html.spec.whatwg.org/multipage/server-sent-events.html). */

export interface Frame {
  event: string;
  /** null where the frame only sets the id or the time to reconnect. */
  data: string | null;
  id: string | null;
  /** Milliseconds. */
  retry: number | null;
}

/** Frames may be cut anywhere; what is not complete is never given. */
export class FrameParser {
  #decoder = new TextDecoder();
  #buffer = "";

  /** The frames that these bytes complete; comments give none. */
  feed(bytes: Uint8Array): Frame[] {
    const parts = (this.#buffer + this.#decoder.decode(bytes, { stream: true })).split("\n\n");
    this.#buffer = parts.pop() ?? "";
    return parts.map(frameOf).filter((frame) => frame !== null);
  }
}

function frameOf(text: string): Frame | null {
  const frame: Frame = { event: "message", data: null, id: null, retry: null };
  for (const line of text.split("\n")) {
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") frame.data = frame.data === null ? value : `${frame.data}\n${value}`;
    else if (name === "event") frame.event = value;
    else if (name === "id") frame.id = value;
    else if (name === "retry" && /^\d{1,9}$/.test(value)) frame.retry = Number(value);
  }
  return frame.data === null && frame.id === null && frame.retry === null ? null : frame;
}
