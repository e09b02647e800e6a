/** Times, durations and figures as a person of the language reads them. */

import type { Language } from "../texts";

const MINUTE = 60;
const HOUR = 3600;

/** A moment (ISO 8601 or milliseconds) in the zone of this browser. */
export function moment(value: string | number, language: Language): string {
  return new Date(value).toLocaleString(language, { dateStyle: "medium", timeStyle: "medium" });
}

/** A duration in seconds, with the unit that fits. */
export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < MINUTE) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  if (seconds < HOUR) return `${Math.floor(seconds / MINUTE)} min ${Math.round(seconds % MINUTE)} s`;
  return `${Math.floor(seconds / HOUR)} h ${Math.round((seconds % HOUR) / MINUTE)} min`;
}

export function figure(value: number | null | undefined, language: Language, digits = 2): string {
  if (value === null || value === undefined) return "–";
  const shown = Math.abs(value) < 0.5 * 10 ** -digits ? 0 : value; // a small negative number would be "-0"
  return shown.toLocaleString(language, { maximumFractionDigits: digits });
}
