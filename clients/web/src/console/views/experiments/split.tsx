/** One split: its arms, what the figures say in all and by segment, cost and time, examples; stop and promote. */

import { useEffect, useRef, useState } from "preact/hooks";
import { Confirm } from "../../components/dialog";
import { Failure, Loading } from "../../components/states";
import { Table, type Column } from "../../components/table";
import { duration, figure, moment } from "../../formats";
import { useAction, useLoaded } from "../../loading";
import { stateOf, useOperations } from "../../operations";
import type { Reply } from "../../reply";
import { linkTo } from "../../route";
import type { PartProps } from ".";
import { interval, Verdict } from "./words";

type Report = Reply<"SplitReport">;
type Split = Report["experiment"];
type Difference = Split["differences"][number];
type Example = Report["examples"][number];
type Side = Report["sides"][number];

/** Milliseconds between two readings while it runs, at least; and how many times as long as the last one took. */
const PAUSE = 10_000;
const REST = 20;

export function SplitPage(props: PartProps) {
  const { api, common, id, language, texts } = props;
  const address = `/api/v1/experiments/${encodeURIComponent(id)}`;
  const took = useRef(0);
  const loaded = useLoaded(
    async (signal) => {
      const began = performance.now();
      const found = await api.get<Report>(`${address}/report`, {}, signal);
      took.current = performance.now() - began;
      return found;
    },
    [api, id],
  );
  const [told, setTold] = useState("");
  const runs = loaded.value?.experiment.status === "running";
  useEffect(() => {
    if (!runs || loaded.busy) return;
    const timer = setTimeout(loaded.reload, Math.max(PAUSE, REST * took.current));
    return () => clearTimeout(timer);
  }, [runs, loaded.busy]);
  if (loaded.error && !loaded.value) return <Failure error={loaded.error} common={common} retry={loaded.reload} />;
  if (!loaded.value) return <Loading common={common} />;
  const report = loaded.value;
  const split = report.experiment;
  const limit = split.figures.limit_ms ? duration(split.figures.limit_ms / 1000) : "";
  return (
    <div class="stack">
      <h2>{split.name}</h2>
      <Facts split={split} language={language} texts={texts} />
      <p role="status">{told}</p>
      {Boolean(loaded.error) && <Failure error={loaded.error} common={common} retry={loaded.reload} />}
      {runs && <Actions {...props} split={split} address={address} done={(words) => (setTold(words), loaded.reload())} />}
      <Table caption={texts.arms} columns={armColumns(split, props)} rows={split.arms} keyOf={(arm) => arm.name} />
      <p class="muted">
        {texts.guards(limit)} {runs && texts.refreshed}
      </p>
      {split.differences.length > 0 && (
        <>
          <Table caption={texts.differences} columns={differenceColumns(props)} rows={split.differences} keyOf={(one) => `${one.arm} ${one.measure}`} />
          <p class="muted">{texts.intervalsHold}</p>
        </>
      )}
      <Segments report={report} {...props} />
      {report.sides.some((one) => one.counted) && <Table caption={texts.costs} columns={sideColumns(props)} rows={report.sides} keyOf={(one) => one.arm} />}
      <Examples title={texts.better} examples={report.examples.filter((one) => one.better)} texts={texts} />
      <Examples title={texts.worse} examples={report.examples.filter((one) => !one.better)} texts={texts} />
    </div>
  );
}

function Facts({ split, language, texts }: Pick<PartProps, "language" | "texts"> & { split: Split }) {
  const who = (by: string): string => (by ? ` ${texts.by} ${by}` : "");
  return (
    <dl class="pairs">
      <dt>{texts.status}</dt>
      <dd>
        <span class={`badge ${split.status === "halted" ? "bad" : "good"}`}>{texts.statuses[split.status] ?? split.status}</span> {split.reason}
      </dd>
      <dt>{texts.started}</dt>
      <dd>{moment(split.started_at, language) + who(split.started_by)}</dd>
      {split.ended_at && (
        <>
          <dt>{texts.ended}</dt>
          <dd>{moment(split.ended_at, language) + who(split.ended_by)}</dd>
        </>
      )}
      <dt>{texts.sticky}</dt>
      <dd>{texts.stickies[split.sticky]}</dd>
    </dl>
  );
}

function Actions({ api, common, texts, split, address, done }: PartProps & { split: Split; address: string; done: (words: string) => void }) {
  const rights = useOperations(api).value;
  const { allowed, reason } = stateOf(rights, "pipelines");
  const candidates = split.arms.slice(1).map((arm) => arm.name);
  const [asking, setAsking] = useState<"stop" | "promote" | null>(null);
  const [arm, setArm] = useState(candidates[0] ?? "");
  const { busy, error, run, clear } = useAction();
  const open = (what: "stop" | "promote"): void => {
    clear();
    setAsking(what);
  };
  const send = (verb: string, body: object | undefined, words: (changed: Split) => string): void =>
    void run(async () => {
      const changed = await api.send<Split>("POST", `${address}/${verb}`, body);
      setAsking(null);
      done(words(changed));
    });
  const dialog = { common, close: () => setAsking(null), busy, error };
  return (
    <>
      <div class="row">
        <button type="button" onClick={() => open("stop")}>
          {texts.stop}
        </button>
        <button type="button" disabled={!allowed} aria-describedby={allowed ? undefined : "no-promotion"} onClick={() => open("promote")}>
          {texts.promote}
        </button>
      </div>
      {rights && !allowed && (
        <p id="no-promotion" class="muted">
          {texts.notAllowed} {reason}
        </p>
      )}
      {asking === "stop" && (
        <Confirm {...dialog} title={texts.stopTitle(split.name)} action={texts.stopAction} danger confirm={() => send("stop", undefined, () => texts.isStopped)}>
          <p>{texts.stopText}</p>
        </Confirm>
      )}
      {asking === "promote" && (
        <Confirm {...dialog} title={texts.promoteTitle(split.name)} action={texts.promoteAction} confirm={() => send("promote", { arm }, (one) => texts.isPromoted(`${one.pipeline}@${one.revision}`))}>
          <p>{texts.promoteText}</p>
          <div class="filters">
            <label>
              {texts.promoteWhich}
              <select value={arm} onChange={(event) => setArm(event.currentTarget.value)}>
                {candidates.map((name) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            </label>
          </div>
        </Confirm>
      )}
    </>
  );
}

function Segments({ report, ...props }: PartProps & { report: Report }) {
  const { texts } = props;
  if (!report.segments.length) return null;
  const rows = report.segments.flatMap((one) => one.differences.map((told) => ({ ...told, of: `${texts.kinds[one.segment]}: ${one.value}` })));
  const columns: Column<(typeof rows)[number]>[] = [{ title: texts.segment, cell: (row) => row.of }, ...differenceColumns(props)];
  return (
    <>
      <Table caption={texts.segments} columns={columns} rows={rows} keyOf={(row) => `${row.of} ${row.arm} ${row.measure}`} />
      <p class="muted">{texts.many(report.segments.length, figure(report.segments.length * 0.05, props.language))}</p>
    </>
  );
}

function Examples({ title, examples, texts }: { title: string; examples: Example[]; texts: PartProps["texts"] }) {
  if (!examples.length) return null;
  return (
    <section class="stack" aria-label={title}>
      <h3>{title}</h3>
      {examples.map((one) => (
        <details key={`${one.arm} ${one.id}`} class="panel">
          <summary>
            {one.question || one.id} ({one.arm}: {texts.reasons[one.reason] ?? one.reason})
          </summary>
          <div class="stack">
            {one.live_id && <Answer title={texts.live} id={one.live_id} text={one.live_answer} />}
            <Answer title={one.arm} id={one.id} text={one.answer} />
          </div>
        </details>
      ))}
    </section>
  );
}

function Answer({ title, id, text }: { title: string; id: string; text: string }) {
  return (
    <div>
      <a href={linkTo("questions", [id])}>{title}</a>
      <p class="side-answer">{text}</p>
    </div>
  );
}

function armColumns(split: Split, { language, texts }: PartProps): Column<Split["arms"][number]>[] {
  const counted = new Map(split.figures.arms.map((one) => [one.arm, one]));
  const number = (name: "questions" | "errors" | "refutations" | "slow" | "thumbs_down"): Column<Split["arms"][number]> => ({
    title: texts[name],
    number: true,
    cell: (arm) => figure(counted.get(arm.name)?.[name] ?? 0, language, 0),
  });
  const time = (milliseconds: number | undefined): string => (milliseconds ? duration(milliseconds / 1000) : "–");
  return [
    { title: texts.arm, cell: (arm) => `${arm.name} (${arm.pipeline.name}@${arm.pipeline.revision})` },
    { title: texts.share, number: true, cell: (arm) => `${figure(arm.share * 100, language, 1)} %` },
    number("questions"),
    number("errors"),
    number("refutations"),
    number("slow"),
    number("thumbs_down"),
    { title: texts.mean, number: true, cell: (arm) => time(counted.get(arm.name)?.mean_ms) },
    { title: texts.p95, number: true, cell: (arm) => time(counted.get(arm.name)?.p95_ms) },
  ];
}

function differenceColumns({ language, texts }: PartProps): Column<Difference>[] {
  return [
    { title: texts.arm, cell: (one) => one.arm },
    { title: texts.measure, cell: (one) => texts.measures[one.measure] ?? one.measure },
    { title: texts.difference, number: true, cell: (one) => figure(one.difference, language, 3) },
    { title: texts.interval, number: true, cell: (one) => interval(one.low, one.high, language, 3) },
    { title: texts.says, cell: (one) => <Verdict says={one.says} texts={texts} /> },
  ];
}

function sideColumns({ language, texts }: PartProps): Column<Side>[] {
  const number = (title: string, cell: (one: Side) => string): Column<Side> => ({ title, number: true, cell });
  return [
    { title: texts.arm, cell: (one) => one.arm },
    number(texts.questions, (one) => figure(one.counted, language, 0)),
    number(texts.each, (one) => figure(one.cost_usd, language, 6)),
    number(texts.tokens, (one) => figure(one.tokens, language, 0)),
    number(texts.median, (one) => duration(one.elapsed.p50 / 1000)),
    number(texts.p95, (one) => duration(one.elapsed.p95 / 1000)),
    number(texts.up, (one) => figure(one.up, language, 0)),
    number(texts.thumbs_down, (one) => figure(one.down, language, 0)),
  ];
}
