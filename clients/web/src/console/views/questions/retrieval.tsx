/** How the passages were found: what was searched for, the ranks in each retriever, what the steps changed. */

import { Failure, Loading } from "../../components/states";
import { Table } from "../../components/table";
import { duration, figure } from "../../formats";
import { useLoaded } from "../../loading";
import type { Reply } from "../../reply";
import { useState } from "preact/hooks";
import { Item, type PartProps } from "./question";
import type { Retrieval } from "./types";

export function Retrievals(props: PartProps) {
  const { found, texts } = props;
  if (!found.retrievals.length) return null;
  return (
    <section class="stack" aria-labelledby="retrieval">
      <h3 id="retrieval">{texts.retrieval}</h3>
      {found.retrievals.map((one) => (
        <OneRetrieval key={one.attempt} {...props} one={one} several={found.retrievals.length > 1} />
      ))}
    </section>
  );
}

function OneRetrieval({ one, several, ...props }: PartProps & { one: Retrieval; several: boolean }) {
  const { texts, language } = props;
  const [again, setAgain] = useState(false);
  const ranked = [...new Set(one.passages.flatMap((passage) => Object.keys(passage.ranks)))];
  const named = several ? ` · ${texts.attempt(one.attempt + 1)}` : "";
  return (
    <div class="panel stack">
      {several && <h4>{texts.attempt(one.attempt + 1)}</h4>}
      <dl class="about">
        <Item name={texts.searched}>{one.searched}</Item>
        {one.sub_questions.length > 0 && <Item name={texts.subQuestions}>{one.sub_questions.join(" · ")}</Item>}
        {one.collections.length > 0 && <Item name={texts.onlyIn}>{one.collections.join(", ")}</Item>}
        {Object.keys(one.metadata).length > 0 && (
          <Item name={texts.onlyWith}>{Object.entries(one.metadata).map(([name, values]) => `${name}: ${values.join(" / ")}`).join(", ")}</Item>
        )}
        {one.department && <Item name={texts.department}>{one.department}</Item>}
        {one.topic && <Item name={texts.topic}>{one.topic}</Item>}
        {one.search_provider && <Item name={texts.provider}>{one.search_provider}</Item>}
        <Item name={texts.took}>{duration(one.took_ms / 1000)}</Item>
      </dl>
      {one.retrievers.length > 0 && (
        <Table
          caption={texts.retrievers + named}
          rows={one.retrievers}
          keyOf={(row) => row.name}
          columns={[
            { title: texts.retriever, cell: (row) => row.name },
            { title: texts.candidates, number: true, cell: (row) => row.candidates },
            { title: texts.best, number: true, cell: (row) => figure(row.top_score, language, 3) },
            { title: texts.time, number: true, cell: (row) => duration(row.took_ms / 1000) },
            { title: texts.failed, cell: (row) => row.missing },
          ]}
        />
      )}
      {one.passages.length === 0 && <p class="muted">{texts.noPassages}</p>}
      {one.passages.length > 0 && (
        <Table
          caption={texts.passages + named}
          rows={one.passages}
          keyOf={(row) => row.id}
          columns={[
            { title: texts.rank, number: true, cell: (row) => row.rank },
            {
              title: texts.passage,
              cell: (row) => (
                <details>
                  <summary>{row.title || row.source}</summary>
                  <p>
                    <code>{row.source}</code>
                  </p>
                  <p class="plain-text">{row.text}</p>
                </details>
              ),
            },
            { title: texts.scoreOf, number: true, cell: (row) => figure(row.score, language, 3) },
            ...ranked.map((name) => ({ title: texts.rankIn(name), number: true, cell: (row: Retrieval["passages"][number]) => row.ranks[name] ?? "–" })),
            { title: texts.via, cell: (row) => row.via.join(", ") },
          ]}
        />
      )}
      {one.steps.length > 0 && (
        <Table
          caption={texts.steps + named}
          rows={one.steps}
          keyOf={(row) => row[0]}
          columns={[
            { title: texts.step, cell: (row) => row[0] },
            { title: texts.did, cell: (row) => row[1] },
          ]}
        />
      )}
      <div class="row">
        <button type="button" aria-expanded={again} onClick={() => setAgain(!again)}>
          {texts.explain}
        </button>
        <span class="muted">{texts.explainHint}</span>
      </div>
      {again && <Explained {...props} one={one} />}
    </div>
  );
}

/** The same search now, with the ranking before and after each step. */
function Explained({ found, one, texts, common, api, language }: PartProps & { one: Retrieval }) {
  const body = { query: one.searched.slice(0, 2000), pipeline: found.pipeline.name, collections: one.collections, metadata: one.metadata, explain: true };
  const loaded = useLoaded((signal) => api.send<Reply<"SearchReply">>("POST", "/api/v1/search", body, signal), [api, one]);
  if (loaded.error) return <Failure error={loaded.error} common={common} retry={loaded.reload} />;
  if (!loaded.value) return <Loading common={common} />;
  const { retrievers, steps } = loaded.value.explanation ?? { retrievers: [], steps: [] };
  const hits = retrievers.flatMap(({ name, hits }) => hits.slice(0, 10).map((hit) => ({ ...hit, name })));
  const rows = steps.flatMap((step, place) =>
    (step.changes.length ? step.changes : [{}]).map((change, number) => ({ key: `${place}.${number}`, step: number ? "" : step.name, change, sizes: number ? "" : `${step.before.length} → ${step.after.length}` })),
  );
  return (
    <div class="stack" role="region" aria-label={texts.explained}>
      <Table
        caption={texts.retrievers}
        rows={hits}
        keyOf={(row) => `${row.name} ${row.id}`}
        columns={[
          { title: texts.retriever, cell: (row) => row.name },
          { title: texts.rank, number: true, cell: (row) => row.rank },
          { title: texts.passage, cell: (row) => row.source },
          { title: texts.scoreOf, number: true, cell: (row) => figure(row.score, language, 3) },
        ]}
      />
      <Table
        caption={texts.steps}
        rows={rows}
        keyOf={(row) => row.key}
        columns={[
          { title: texts.step, cell: (row) => row.step },
          { title: texts.place, number: true, cell: (row) => row.sizes },
          { title: texts.change, cell: (row) => words(row.change) },
        ]}
      />
    </div>
  );
}

/** A change as one line: what was done, to which passage, and the values before and after. */
function words(change: Record<string, unknown>): string {
  const { what, passage, before, after, ...rest } = change;
  const values = before !== undefined || after !== undefined ? `${String(before ?? "–")} → ${String(after ?? "–")}` : "";
  return [what, passage, values, ...Object.entries(rest).map(([name, value]) => `${name} ${String(value)}`)].filter(Boolean).map(String).join(" · ");
}
