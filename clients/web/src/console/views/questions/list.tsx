/** The live list of questions, its filters in the address. */

import { useEffect, useState } from "preact/hooks";
import { Empty, Failure, Loading } from "../../components/states";
import { figure } from "../../formats";
import { useLoaded } from "../../loading";
import { linkTo } from "../../route";
import type { ViewProps } from "../registry";
import { useLiveList } from "./live";
import { Rows } from "./rows";
import type { QuestionTexts } from "./texts";

const STAGES = ["moderation", "translation", "retrieval", "answer", "verifier"];
const HOUR = 3_600_000;
/** Milliseconds without a key being pressed after which a text is searched for. */
const PAUSE = 400;

type Filters = Record<"text" | "pipeline" | "state" | "stage" | "language" | "lane" | "rating" | "hours" | "conversation" | "parent", string>;
const NAMES: readonly (keyof Filters)[] = ["text", "pipeline", "state", "stage", "language", "lane", "rating", "hours", "conversation", "parent"];

interface Props extends ViewProps {
  texts: QuestionTexts;
}

export function QuestionList({ api, common, language, query, go, texts }: Props) {
  const filters = Object.fromEntries(NAMES.map((name) => [name, query.get(name) ?? ""])) as Filters;
  const set = (name: keyof Filters, value: string): void => go(linkTo("questions", [], { ...filters, [name]: value }));
  const list = useLiveList(api, asQuery(filters, useHour()));
  const filtered = NAMES.some((name) => filters[name]);
  const first = !list.lines.length;
  return (
    <>
      <header class="row spread">
        <h2>{texts.title}</h2>
        <p class="muted live-state" role="status">
          {list.connected ? texts.live : list.busy ? common.loading : texts.offline} · {texts.shown(figure(list.lines.length, language), list.more)}
        </p>
      </header>
      <FilterForm {...{ api, filters, set, texts }} clear={filtered ? () => go(linkTo("questions")) : null} />
      {Boolean(list.error) && <Failure error={list.error} common={common} retry={list.reload} />}
      {first && list.busy && <Loading common={common} />}
      {first && !list.busy && !list.error && (filtered ? <p class="state">{texts.noMatch}</p> : <Empty title={texts.noneTitle}><p>{texts.none}</p></Empty>)}
      {!first && <Rows list={list} texts={texts} language={language} />}
    </>
  );
}

interface FormProps {
  api: ViewProps["api"];
  filters: Filters;
  set: (name: keyof Filters, value: string) => void;
  texts: QuestionTexts;
  clear: (() => void) | null;
}

function FilterForm({ api, filters, set, texts, clear }: FormProps) {
  const pipelines = useLoaded((signal) => api.get<{ name: string }[]>("/api/v1/pipelines", {}, signal), [api]);
  const [text, setText] = useState(filters.text);
  useEffect(() => setText(filters.text), [filters.text]);
  useEffect(() => {
    if (text === filters.text) return undefined;
    const timer = setTimeout(() => set("text", text), PAUSE);
    return () => clearTimeout(timer);
  }, [text]);
  const choice = (name: keyof Filters, label: string, options: readonly (readonly [string, string])[]) => (
    <label>
      {label}
      <select value={filters[name]} onChange={(event) => set(name, event.currentTarget.value)}>
        <option value="">{texts.all}</option>
        {options.map(([value, words]) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
  const states: [string, string][] = [["running", texts.stateRunning], ["ended", texts.stateEnded], ...Object.entries(texts.outcomes)];
  return (
    <form class="filters" role="search" aria-label={texts.filters} onSubmit={(event) => (event.preventDefault(), set("text", text))}>
      <label class="wide-filter">
        {texts.search}
        <input type="search" value={text} maxLength={200} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      {choice("state", texts.state, states)}
      {choice("stage", texts.stage, STAGES.map((stage) => [stage, stage]))}
      {choice("pipeline", texts.pipeline, (pipelines.value ?? []).map(({ name }) => [name, name]))}
      <label>
        {texts.language}
        <input size={5} value={filters.language} maxLength={16} placeholder="eng" onChange={(event) => set("language", event.currentTarget.value.trim())} />
      </label>
      {choice("lane", texts.lane, Object.entries(texts.lanes))}
      {choice("rating", texts.rating, Object.entries(texts.rated))}
      {choice("hours", texts.period, Object.entries(texts.periods))}
      {clear && (
        <button type="button" onClick={clear}>
          {texts.reset}
        </button>
      )}
    </form>
  );
}

/** The filters as the route takes them; `now` is the beginning of a minute, so that equal filters are equal queries. */
function asQuery({ state, hours, ...rest }: Filters, now: number): Record<string, string> {
  const progress = state === "running" || state === "ended";
  return {
    ...rest,
    status: progress ? state : "",
    outcome: progress ? "" : state,
    since: /^\d{1,4}$/.test(hours) ? new Date(now - Number(hours) * HOUR).toISOString() : "",
  };
}

function useHour(): number {
  const [now] = useState(() => Math.floor(Date.now() / 60_000) * 60_000);
  return now;
}
