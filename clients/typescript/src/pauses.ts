/** How long a request waits before it is sent again. */

import { ResponseError } from "./errors.js";

/** Milliseconds: the first pause doubles up to the longest; a longer Retry-After is an error at once. */
const FIRST = 500;
const LONGEST = 15_000;
const LONGEST_RETRY_AFTER = 60_000;

/** Milliseconds before try number `attempt` (from 1); null where trying again does not help. */
export function pauseBefore(attempt: number, error: unknown): number | null {
  if (error instanceof ResponseError) {
    if (!error.temporary) return null;
    if (error.retryAfter !== null) {
      const asked = error.retryAfter * 1000;
      return asked <= LONGEST_RETRY_AFTER ? asked : null;
    }
  }
  return Math.min(LONGEST, FIRST * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2);
}

/** Wait so many milliseconds, or until the signal aborts. */
export function wait(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}
