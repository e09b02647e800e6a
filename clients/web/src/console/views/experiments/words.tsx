/** Intervals, and what they say, as every part of this view writes them. */

import type { Language } from "../../../texts";
import { figure } from "../../formats";
import type { ExperimentTexts } from "./texts";

/** An interval with its bounds; without any while there are too few observations. */
export function interval(low: number | null | undefined, high: number | null | undefined, language: Language, digits = 2): string {
  return low === null || low === undefined || high === null || high === undefined ? "–" : `${figure(low, language, digits)} … ${figure(high, language, digits)}`;
}

export function Verdict({ says, texts }: { says: string; texts: ExperimentTexts }) {
  const tone = says === "better" ? "good" : says === "worse" ? "bad" : "";
  return <span class={`badge ${tone}`}>{texts.verdicts[says] ?? says}</span>;
}
