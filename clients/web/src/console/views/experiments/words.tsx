/** Intervals, and what they say, as every part of this view writes them. */

import type { Language } from "../../../texts";
import type { Column } from "../../components/table";
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

/** How often which answer is better. */
export interface Preferred {
  pairs: number;
  candidate: number;
  tie: number;
  /** Of so many pairs neither answer will do; a judge model does not say that. */
  bad?: number;
  live: number;
  preference: number;
  low: number | null;
  high: number | null;
  says: string;
}

/** Columns of preferences; with `neither` also of how many pairs neither answer will do. */
export function preferenceColumns<Row extends Preferred & { who: string }>(texts: ExperimentTexts, language: Language, neither = true): Column<Row>[] {
  const count = (title: string, read: (row: Row) => number): Column<Row> => ({ title, number: true, cell: read });
  return [
    { title: texts.who, cell: (row) => row.who },
    count(texts.pairs, (row) => row.pairs),
    count(texts.candidate, (row) => row.candidate),
    count(texts.tie, (row) => row.tie),
    ...(neither ? [count(texts.neither, (row) => row.bad ?? 0)] : []),
    count(texts.live, (row) => row.live),
    { title: texts.preference, number: true, cell: (row) => figure(row.preference, language) },
    { title: texts.interval, number: true, cell: (row) => interval(row.low, row.high, language) },
    { title: texts.says, cell: (row) => <Verdict says={row.says} texts={texts} /> },
  ];
}
