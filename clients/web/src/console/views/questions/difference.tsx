/** Two runs side by side: figures, passages, and the answers word by word. */

import { useEffect } from "preact/hooks";
import { Failure, Loading } from "../../components/states";
import { Table } from "../../components/table";
import { duration, figure } from "../../formats";
import { useLoaded } from "../../loading";
import { linkTo } from "../../route";
import type { ViewProps } from "../registry";
import { RECENT } from "./question";
import type { QuestionTexts } from "./texts";
import type { Difference, RunSummary, Scores, Timeline } from "./types";

interface Props extends ViewProps {
  id: string;
  other: string;
  texts: QuestionTexts;
}

export function DifferenceView({ api, common, language, id, other, texts }: Props) {
  const of = (one: string, part: string): string => `/api/v1/questions/${encodeURIComponent(one)}/${part}`;
  const loaded = useLoaded(
    async (signal) => {
      const replay = await api.get<Timeline>(of(other, "timeline"), {}, signal);
      const difference = replay.status === "ended" ? await api.get<Difference>(of(id, `difference/${encodeURIComponent(other)}`), {}, signal) : null;
      return { replay, difference };
    },
    [api, id, other],
  );
  const running = loaded.value?.replay.status === "running";
  useEffect(() => {
    if (!running) return undefined;
    const here = new AbortController();
    const listen = async (): Promise<void> => {
      for await (const { event } of api.follow("/api/v1/events", { id: other, since: RECENT }, here.signal)) if (event === "event") loaded.reload();
    };
    listen().catch(() => undefined); // the page can be loaded again
    return () => here.abort();
  }, [api, other, running]);

  if (!loaded.value) return loaded.error ? <Failure error={loaded.error} common={common} retry={loaded.reload} /> : <Loading common={common} />;
  const { replay, difference } = loaded.value;
  return (
    <>
      <p>
        <a href={linkTo("questions", [id])}>{texts.original}</a> · <a href={linkTo("questions", [other])}>{texts.repeated}</a>
      </p>
      <h2>{texts.difference}</h2>
      <p>{replay.question}</p>
      {Boolean(loaded.error) && <Failure error={loaded.error} common={common} retry={loaded.reload} />}
      <p role="status" class={difference ? `verdict ${difference.verdict}` : "progress"}>
        {difference ? texts.verdicts[difference.verdict] : texts.waiting(replay.stage)}
      </p>
      {difference && <Compared found={difference} texts={texts} language={language} />}
    </>
  );
}

interface ComparedProps {
  found: Difference;
  texts: QuestionTexts;
  language: ViewProps["language"];
}

function Compared({ found, texts, language }: ComparedProps) {
  const { left, right } = found;
  const row = (name: string, read: (run: RunSummary) => string): [string, string, string] => [name, read(left), read(right)];
  const scores = (name: keyof Scores) => (run: RunSummary): string => figure(run.scores?.[name], language);
  const figures = [
    row(texts.pipeline, (run) => run.pipeline),
    row(texts.ending, (run) => run.ending),
    row(texts.attempts, (run) => figure(run.attempts, language)),
    row(texts.confidence, (run) => figure(run.confidence, language, 1)),
    ...(Object.keys(texts.score) as (keyof Scores)[]).map((name) => row(texts.score[name], scores(name))),
    row(texts.tokens, (run) => figure(run.tokens, language)),
    row(texts.cost, (run) => `$${run.cost_usd.toFixed(4)}`),
    row(texts.milliseconds, (run) => duration(run.milliseconds / 1000)),
  ];
  const passages: [string, string, string][] = [
    ...found.gained.map((name): [string, string, string] => [texts.gained, name, ""]),
    ...found.lost.map((name): [string, string, string] => [texts.lost, name, ""]),
    ...found.moved.map((one): [string, string, string] => [texts.moved, one.source, `${texts.nowThere(one.before, one.after)}, ${figure(one.score_before, language, 3)} → ${figure(one.score_after, language, 3)}`]),
  ];
  return (
    <>
      <section class="stack" aria-labelledby="answers">
        <h3 id="answers">{texts.answers}</h3>
        {!found.words.length && <p class="muted">{texts.sameAnswer}</p>}
        <div class="side-by-side">
          <Side title={texts.original} run={left} words={found.words} kept="-" texts={texts} />
          <Side title={texts.repeated} run={right} words={found.words} kept="+" texts={texts} />
        </div>
      </section>
      <section>
        <Table
          caption={texts.figures}
          rows={figures}
          keyOf={(one) => one[0]}
          columns={[
            { title: texts.figure, cell: (one) => one[0] },
            { title: texts.original, cell: (one) => one[1] },
            { title: texts.repeated, cell: (one) => (one[1] === one[2] ? one[2] : <b>{one[2]}</b>) },
          ]}
        />
      </section>
      <section class="stack" aria-labelledby="moved">
        <h3 id="moved">{texts.gainedLost}</h3>
        {!passages.length && <p class="muted">{texts.samePassages}</p>}
        {passages.length > 0 && (
          <Table
            quiet
            caption={texts.gainedLost}
            rows={passages}
            keyOf={(one) => one.join(" ")}
            columns={[
              { title: texts.change, cell: (one) => one[0] },
              { title: texts.passage, cell: (one) => one[1] },
              { title: texts.rank, cell: (one) => one[2] },
            ]}
          />
        )}
      </section>
      {found.changed.length > 0 && (
        <details class="panel">
          <summary>
            {texts.changedPlaces} ({found.changed.length})
          </summary>
          <ul class="places">
            {found.changed.map((place) => (
              <li key={place}>
                <code>{place}</code>
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

interface SideProps {
  title: string;
  run: RunSummary;
  words: Difference["words"];
  /** Which words only this side has. */
  kept: "-" | "+";
  texts: QuestionTexts;
}

function Side({ title, run, words, kept, texts }: SideProps) {
  const parts = words.length ? words.filter(([kind]) => kind === "=" || kind === kept) : ([["=", run.answer]] as const);
  return (
    <article class="panel stack">
      <h4>{title}</h4>
      <p class="plain-text">
        {!run.answer && <span class="muted">{texts.emptyAnswer}</span>}
        {parts.map(([kind, text], number) => (kind === "=" ? text : kind === "-" ? <del key={number}>{text}</del> : <ins key={number}>{text}</ins>))}
      </p>
    </article>
  );
}
