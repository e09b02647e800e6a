/** Errors by what a program can do about them. */

import type { components } from "./schema.js";

export type Problem = Partial<components["schemas"]["Problem"]>;

/** Any error of this package. */
export class AnswerbusError extends Error {
  override name = "AnswerbusError";
}

/** The server refused; `detail` says what to send instead, `retryAfter` (seconds) when to ask again. */
export class ResponseError extends AnswerbusError {
  override name = "ResponseError";

  constructor(
    readonly status: number,
    readonly detail: string,
    readonly retryAfter: number | null,
    readonly problem: Problem,
  ) {
    super(`${status}: ${detail}`);
  }

  /** Whether the same request may succeed later. */
  get temporary(): boolean {
    return [408, 429, 502, 503, 504].includes(this.status);
  }
}

/** The server could not be reached, as often as it was tried. */
export class ConnectionFailedError extends AnswerbusError {
  override name = "ConnectionFailedError";
}

/** The stream broke and could not be resumed; a later attempt goes on at `lastEventId`. */
export class StreamInterruptedError extends AnswerbusError {
  override name = "StreamInterruptedError";

  constructor(
    message: string,
    readonly lastEventId: string,
  ) {
    super(message);
  }
}

/** The error of a response, also of one that is not from Answerbus, such as a proxy's page. */
export async function errorOf(response: Response): Promise<ResponseError> {
  const text = await response.text().catch(() => "");
  const problem = parsed(text);
  const seconds = response.headers.get("retry-after") ?? "";
  const detail = problem.detail || text.slice(0, 200) || response.statusText;
  return new ResponseError(response.status, detail, /^\d{1,9}$/.test(seconds) ? Number(seconds) : null, problem);
}

function parsed(text: string): Problem {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Problem) : {};
  } catch {
    return {}; // a text of a proxy
  }
}
