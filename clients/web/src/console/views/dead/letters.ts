/** Dead letters as the routes give them, and where a field stands in a JSON text. */

export interface Listed {
  number: number;
  time: string;
  stage: string;
  fact: string;
  kind: string;
  error: string;
  lane: "live" | "background";
  id: string;
  edited: boolean;
  bytes: number;
}

export interface Letter extends Listed {
  subject: string;
  stack: string;
  event: Record<string, unknown> | null;
  payload: unknown;
}

export interface Retried {
  number: number;
  id: string;
}

export interface NotChanged {
  number: number;
  reason: string;
}

export interface Fault {
  at: string;
  problem: string;
}

/** The event whose payload is the raw question, which the server never shows. */
export const UNMODERATED = "QuestionAsked";

/**
 * Where the value at `path` (`question.text`, `passages.0.url`) begins in a JSON text that can be parsed.
 *
 * A field that is missing is found at the nearest object around it.
 */
export function placeOf(text: string, path: string): number {
  const keys = path.split(".").filter(Boolean);
  let at = 0;
  let found = 0;
  const blank = (): void => {
    while (/\s/.test(text[at] ?? "")) at += 1;
  };
  const word = (): string => {
    const from = at;
    at += 1;
    while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
    at += 1;
    return JSON.parse(text.slice(from, at)) as string;
  };
  /** Reads a value; `depth` keys of the path lead to it, or -1 where it is not on the path. */
  const value = (depth: number): void => {
    blank();
    if (depth >= 0) found = at;
    const open = text[at];
    if (open === '"') return void word();
    if (open !== "{" && open !== "[") {
      while (at < text.length && !/[\s,\]}]/.test(text[at]!)) at += 1;
      return;
    }
    at += 1;
    for (let index = 0; ; index += 1) {
      blank();
      if (at >= text.length || text[at] === "}" || text[at] === "]") break;
      let key = String(index);
      if (open === "{") {
        key = word();
        blank();
        at += 1;
      }
      value(depth >= 0 && keys[depth] === key ? depth + 1 : -1);
      blank();
      if (text[at] === ",") at += 1;
    }
    at += 1;
  };
  value(0);
  return found;
}

/** The number of the line, from 1, of a position in a text. */
export function lineOf(text: string, position: number): number {
  return text.slice(0, position).split("\n").length;
}
