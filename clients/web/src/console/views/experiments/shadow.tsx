/** A shadow run as its report was kept: measures with intervals, what a judge and experts prefer, segments, examples. */

import { Failure, Loading } from "../../components/states";
import { Table, type Column } from "../../components/table";
import { figure, moment } from "../../formats";
import { useLoaded } from "../../loading";
import type { Reply } from "../../reply";
import { linkTo } from "../../route";
import type { PartProps } from ".";
import { interval, type Preferred, preferenceColumns, Verdict } from "./words";

interface Measured {
  pairs: number;
  difference: number;
  low: number | null;
  high: number | null;
  says: string;
  detectable: number | null;
}
type BySegment<Of> = Record<string, Record<string, Of>>;
/** What `answerbus experiments` keeps of a run; it has no text of a question or an answer. */
interface Shadow {
  live: string;
  candidate: string;
  pairs: number;
  ended: string;
  halted_by_guard: boolean;
  started_at: string;
  measures: Record<string, Measured>;
  segments: BySegment<{ pairs: number; measures: Record<string, Measured> }>;
  judge: Partial<Preferred & { swayed: number; cost_usd: number; segments: BySegment<Preferred> }>;
  experts: { together?: Preferred; segments?: (Preferred & { segment: string; value: string })[]; agreement?: number | null; shared?: number; review?: string };
  cost_usd: { live: number; shadow: number };
  examples: Record<"better" | "worse", { live: string; candidate: string }[]>;
}
type Preference = Preferred & { who: string };
type Row = Measured & { name: string; of: string };

export function ShadowPage({ api, common, id, language, texts }: PartProps) {
  const loaded = useLoaded((signal) => api.get<Reply<"ReportReply">>(`/api/v1/evaluations/${encodeURIComponent(id)}`, {}, signal), [api, id]);
  if (loaded.error && !loaded.value) return <Failure error={loaded.error} common={common} retry={loaded.reload} />;
  if (!loaded.value) return <Loading common={common} />;
  const { kept } = loaded.value;
  const told = shadowOf(loaded.value.report);
  if (!told) return <p class="notice">{texts.otherReport}</p>;
  const named = (segment: string, value: string): string => `${texts.kinds[segment] ?? segment}: ${value}`;
  const rows = rowsOf("", told.measures);
  const segments = Object.entries(told.segments).flatMap(([segment, found]) => Object.entries(found).flatMap(([value, one]) => rowsOf(named(segment, value), one.measures)));
  const judged = told.judge.pairs
    ? [
        { ...(told.judge as Preferred), who: texts.together },
        ...Object.entries(told.judge.segments ?? {}).flatMap(([segment, found]) => Object.entries(found).map(([value, one]) => ({ ...one, who: named(segment, value) }))),
      ]
    : [];
  const experts = told.experts.together?.pairs
    ? [{ ...told.experts.together, who: texts.together }, ...(told.experts.segments ?? []).map((one) => ({ ...one, who: named(one.segment, one.value) }))]
    : [];
  return (
    <div class="stack">
      <h2>{kept?.name || id}</h2>
      <Facts told={told} at={kept?.at ?? ""} language={language} texts={texts} />
      <Table caption={texts.differences} columns={columnsOf(texts, language)} rows={rows} keyOf={(row) => row.name} />
      <p class="muted">{texts.intervalsOfPairs}</p>
      {judged.length > 0 && (
        <>
          <Table caption={texts.judgeTitle} columns={preferenceColumns<Preference>(texts, language, false)} rows={judged} keyOf={(row) => row.who} />
          <p class="muted">{texts.swayed(told.judge.swayed ?? 0, `${figure(told.judge.cost_usd, language, 4)} $`)}</p>
        </>
      )}
      {experts.length > 0 && (
        <>
          <Table caption={texts.experts} columns={preferenceColumns<Preference>(texts, language)} rows={experts} keyOf={(row) => row.who} />
          <p>{told.experts.agreement === null || told.experts.agreement === undefined ? texts.noAgreement : texts.agreement(figure(told.experts.agreement, language), told.experts.shared ?? 0)}</p>
        </>
      )}
      {told.experts.review && (
        <p>
          <a href={linkTo("experiments", ["result", told.experts.review])}>{texts.reviewOfPairs}</a>
        </p>
      )}
      {segments.length > 0 && (
        <Table caption={texts.segments} columns={[{ title: texts.segment, cell: (row) => row.of }, ...columnsOf(texts, language)]} rows={segments} keyOf={(row) => `${row.of} ${row.name}`} />
      )}
      <Examples title={texts.better} pairs={told.examples.better} texts={texts} />
      <Examples title={texts.worse} pairs={told.examples.worse} texts={texts} />
    </div>
  );
}

function Facts({ told, at, language, texts }: Pick<PartProps, "language" | "texts"> & { told: Shadow; at: string }) {
  const facts: [string, string][] = [
    [texts.candidate, told.candidate],
    [texts.live, told.live],
    [texts.pairs, figure(told.pairs, language, 0)],
    [texts.started, told.started_at && moment(told.started_at, language)],
    [texts.kept_at, at && moment(at, language)],
    [texts.cost, `${figure(told.cost_usd.live, language, 4)} $ / ${figure(told.cost_usd.shadow, language, 4)} $`],
  ];
  return (
    <dl class="pairs">
      <dt>{texts.status}</dt>
      <dd>
        <span class={`badge ${told.halted_by_guard ? "bad" : "good"}`}>{told.halted_by_guard ? texts.statuses["halted"] : told.ended ? texts.ended : texts.statuses["running"]}</span> {told.ended}
      </dd>
      {facts.map(([title, value]) => (
        <>
          <dt key={title}>{title}</dt>
          <dd>{value}</dd>
        </>
      ))}
    </dl>
  );
}

function Examples({ title, pairs, texts }: { title: string; pairs: Shadow["examples"]["better"]; texts: PartProps["texts"] }) {
  if (!pairs.length) return null;
  return (
    <section class="stack" aria-label={title}>
      <h3>{title}</h3>
      <p class="muted">{texts.byRecord}</p>
      <ul>
        {pairs.map((one) => (
          <li key={one.candidate} class="pair-ids">
            <a href={linkTo("questions", [one.live])}>{`${texts.live} ${one.live}`}</a> · <a href={linkTo("questions", [one.candidate])}>{`${texts.candidate} ${one.candidate}`}</a>
          </li>
        ))}
      </ul>
    </section>
  );
}

function columnsOf(texts: PartProps["texts"], language: PartProps["language"]): Column<Row>[] {
  return [
    { title: texts.measure, cell: (row) => texts.ofPairs[row.name] ?? row.name },
    { title: texts.pairs, number: true, cell: (row) => figure(row.pairs, language, 0) },
    { title: texts.difference, number: true, cell: (row) => figure(row.difference, language, 3) },
    { title: texts.interval, number: true, cell: (row) => interval(row.low, row.high, language, 3) },
    { title: texts.detectable, number: true, cell: (row) => figure(row.detectable, language, 3) },
    { title: texts.says, cell: (row) => <Verdict says={row.says} texts={texts} /> },
  ];
}

function rowsOf(of: string, measures: Record<string, Measured>): Row[] {
  return Object.entries(measures).map(([name, one]) => ({ ...one, name, of }));
}

/** The report, if it is one of a shadow run: whoever keeps reports chooses their kind. */
function shadowOf(report: Record<string, unknown>): Shadow | null {
  const parts = ["measures", "segments", "judge", "experts", "cost_usd", "examples"];
  const has = parts.every((name) => typeof report[name] === "object" && report[name] !== null);
  return has && typeof report["pairs"] === "number" ? (report as unknown as Shadow) : null;
}
