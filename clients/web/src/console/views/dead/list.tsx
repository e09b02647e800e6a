/** The list: filters, pages, and what is done to several at once. */

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Confirm } from "../../components/dialog";
import { Empty, Failure, Loading } from "../../components/states";
import { Table, type Column } from "../../components/table";
import { moment } from "../../formats";
import { useAction, useLoaded } from "../../loading";
import { linkTo } from "../../route";
import type { ViewProps } from "../registry";
import type { Listed, NotChanged, Retried } from "./letters";
import { RetryFields, retryBody, type RetryChoice } from "./retry";
import type { DeadTexts } from "./texts";

interface Props extends ViewProps {
  allowed: boolean;
  notice: ComponentChildren;
  texts: DeadTexts;
}

interface Page {
  letters: Listed[];
  after: number;
}

interface Outcome {
  words: string;
  failed: NotChanged[];
}

const FILTERS = ["stage", "kind", "id", "since"] as const;

export function LetterList({ api, language, common, query, go, allowed, notice, texts }: Props) {
  const asked = query.toString();
  const page = useLoaded((signal) => api.get<Page>("/api/v1/dead", { ...Object.fromEntries(query), limit: 50 }, signal), [api, asked]);
  const flow = useLoaded((signal) => api.get<{ stages: string[] }>("/api/v1/stages/flow", {}, signal), [api]);
  const [chosen, setChosen] = useState<ReadonlySet<number>>(new Set());
  const [asking, setAsking] = useState<"retry" | "drop" | null>(null);
  const [choice, setChoice] = useState<RetryChoice>({ lane: "", newest: false, deadline: "0" });
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const { busy, error, run, clear } = useAction();
  useEffect(() => setChosen(new Set()), [page.value]);

  const letters = page.value?.letters ?? [];
  const toggle = (number: number): void => {
    const next = new Set(chosen);
    if (!next.delete(number)) next.add(number);
    setChosen(next);
  };
  const open = (what: "retry" | "drop"): void => (clear(), setAsking(what));
  const change = async (verb: "retry" | "drop"): Promise<void> => {
    const numbers = [...chosen];
    const body = verb === "retry" ? { numbers, ...retryBody(choice) } : { numbers };
    const done = await run(async () => {
      const reply = await api.send<{ done: Retried[]; failed: NotChanged[] }>("POST", `/api/v1/dead/${verb}`, body);
      const words = verb === "retry" ? texts.retriedMany(reply.done.length) : texts.droppedMany(reply.done.length);
      setOutcome({ words, failed: reply.failed });
    });
    if (!done) return;
    setAsking(null);
    page.reload();
  };
  const dialog = { common, busy, error, close: () => setAsking(null) };

  return (
    <>
      <h2>{texts.list}</h2>
      <p class="muted">{texts.about}</p>
      {notice}
      <Filters key={asked} stages={flow.value?.stages ?? []} query={query} go={go} texts={texts} />
      <div role="status">{outcome && <OutcomeNote outcome={outcome} texts={texts} />}</div>
      {page.error ? (
        <Failure error={page.error} common={common} retry={page.reload} />
      ) : !page.value ? (
        <Loading common={common} />
      ) : letters.length === 0 ? (
        <Empty title={texts.none}>
          <p>{texts.noneText}</p>
        </Empty>
      ) : (
        <>
          <div class="row">
            <label class="row">
              <input type="checkbox" checked={chosen.size === letters.length} onChange={() => setChosen(new Set(chosen.size === letters.length ? [] : letters.map((one) => one.number)))} />
              {texts.selectAll}
            </label>
            <span class="muted">{texts.chosen(chosen.size)}</span>
            <button type="button" disabled={!allowed || !chosen.size} aria-describedby={allowed ? undefined : "read-only"} onClick={() => open("retry")}>
              {texts.retryChosen}
            </button>
            <button type="button" class="danger" disabled={!allowed || !chosen.size} aria-describedby={allowed ? undefined : "read-only"} onClick={() => open("drop")}>
              {texts.dropChosen}
            </button>
          </div>
          <Table caption={texts.list} quiet columns={columnsOf(texts, language, chosen, toggle)} rows={letters} keyOf={(one) => one.number} />
          <div class="row">
            {query.has("after") && <a href={linkTo("dead", [], pageQuery(query, ""))}>{texts.first}</a>}
            {page.value.after > 0 && <a href={linkTo("dead", [], pageQuery(query, String(page.value.after)))}>{texts.next}</a>}
          </div>
        </>
      )}
      {asking === "retry" && (
        <Confirm {...dialog} title={texts.retryTitle(chosen.size)} action={texts.retryAction} confirm={() => void change("retry")}>
          <p>{texts.retryText}</p>
          <RetryFields choice={choice} set={setChoice} texts={texts} />
        </Confirm>
      )}
      {asking === "drop" && (
        <Confirm {...dialog} title={texts.dropTitle(chosen.size)} action={texts.dropAction} danger confirm={() => void change("drop")}>
          <p>{texts.dropText}</p>
        </Confirm>
      )}
    </>
  );
}

function Filters({ stages, query, go, texts }: { stages: string[]; query: URLSearchParams; go: (hash: string) => void; texts: DeadTexts }) {
  const submit = (event: Event): void => {
    event.preventDefault();
    const given = new FormData(event.currentTarget as HTMLFormElement);
    go(linkTo("dead", [], Object.fromEntries(FILTERS.map((name) => [name, String(given.get(name) ?? "").trim()]))));
  };
  const stage = query.get("stage") ?? "";
  const named = stages.includes(stage) || !stage ? stages : [...stages, stage];
  return (
    <form class="filters" aria-label={texts.filter} onSubmit={submit}>
      <label>
        {texts.stage}
        <select key={named.join()} name="stage" defaultValue={stage}>
          <option value="">{texts.any}</option>
          {named.map((name) => (
            <option key={name} selected={name === stage}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label>
        {texts.kind}
        <input name="kind" defaultValue={query.get("kind") ?? ""} maxLength={64} />
      </label>
      <label>
        {texts.id}
        <input name="id" defaultValue={query.get("id") ?? ""} pattern="[0-9a-f]{32}" maxLength={32} />
      </label>
      <label>
        {texts.period}
        <select name="since">
          {Object.entries(texts.periods).map(([seconds, words]) => (
            <option key={seconds} value={seconds} selected={seconds === (query.get("since") ?? "")}>
              {words}
            </option>
          ))}
        </select>
      </label>
      <button type="submit">{texts.apply}</button>
    </form>
  );
}

function OutcomeNote({ outcome, texts }: { outcome: Outcome; texts: DeadTexts }) {
  return (
    <div class="notice">
      <p>{outcome.words}</p>
      {outcome.failed.length > 0 && (
        <>
          <p>{texts.notDone}</p>
          <ul>
            {outcome.failed.map((one) => (
              <li key={one.number}>{`${one.number}: ${one.reason}`}</li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

function columnsOf(texts: DeadTexts, language: ViewProps["language"], chosen: ReadonlySet<number>, toggle: (number: number) => void): Column<Listed>[] {
  const { columns } = texts;
  return [
    {
      title: columns.select,
      cell: (one) => <input type="checkbox" aria-label={texts.selectOne(one.number)} checked={chosen.has(one.number)} onChange={() => toggle(one.number)} />,
    },
    { title: columns.number, number: true, cell: (one) => <a href={linkTo("dead", [String(one.number)])}>{one.number}</a> },
    { title: columns.time, cell: (one) => <span class="one-line">{moment(one.time, language)}</span> },
    { title: columns.stage, cell: (one) => one.stage },
    {
      title: columns.fact,
      cell: (one) => (
        <>
          {one.fact || "–"} {one.edited && <span class="badge">{texts.edited}</span>}
        </>
      ),
    },
    {
      title: columns.error,
      cell: (one) => (
        <div class="why">
          <span class="badge bad">{one.kind}</span> {one.error}
        </div>
      ),
    },
    { title: columns.lane, cell: (one) => texts.lanes[one.lane] },
    { title: columns.question, cell: (one) => (one.id ? <a href={linkTo("questions", [one.id])}>{`${one.id.slice(0, 8)}…`}</a> : "–") },
  ];
}

function pageQuery(query: URLSearchParams, after: string): Record<string, string> {
  return { ...Object.fromEntries(query), after };
}
