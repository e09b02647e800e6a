/** What each submission made of a document: when, with which bytes, and what these became. */

import { Failure, Loading } from "../../components/states";
import { Table } from "../../components/table";
import { duration, figure, moment } from "../../formats";
import { useLoaded } from "../../loading";
import type { ViewProps } from "../registry";
import type { DocumentsTexts } from "./texts";
import type { Revision } from "./types";

/** Characters of a digest by which one is told from another. */
const SHOWN = 12;

interface Props extends Pick<ViewProps, "api" | "language" | "common"> {
  source: string;
  /** The digest of the version in the index. */
  current: string;
  texts: DocumentsTexts;
}

export function Revisions({ api, language, common, source, current, texts }: Props) {
  const loaded = useLoaded((signal) => api.get<{ revisions: Revision[] }>("/api/v1/documents/revisions", { source }, signal), [source, current]);
  const rows = loaded.value?.revisions ?? [];
  const newest = rows.find((one) => one.status === "indexed" && one.digest === current);
  return (
    <section class="stack" aria-labelledby="document-revisions">
      <h3 id="document-revisions">{texts.revisions}</h3>
      <p class="muted">{texts.revisionsHint}</p>
      {Boolean(loaded.error) && <Failure error={loaded.error} common={common} retry={loaded.reload} />}
      {!loaded.value && !loaded.error && <Loading common={common} />}
      {loaded.value && !rows.length && <p>{texts.noRevisions}</p>}
      {rows.length > 0 && (
        <Table
          caption={texts.revisions}
          quiet
          rows={rows}
          keyOf={(one) => one.submission}
          columns={[
            { title: texts.submittedAt, cell: (one) => moment(one.at, language) },
            {
              title: texts.outcome,
              cell: (one) =>
                one.status === "refused" ? (
                  <>
                    <span class="badge bad">{texts.states.refused}</span> {one.reason}
                  </>
                ) : (
                  <span class={`badge ${one === newest ? "good" : ""}`}>{one === newest ? texts.inIndex : texts.replaced}</span>
                ),
            },
            { title: texts.passages, number: true, cell: (one) => changed(one, rows, "chunks", language) },
            { title: texts.entities, number: true, cell: (one) => changed(one, rows, "entities", language) },
            { title: texts.relations, number: true, cell: (one) => changed(one, rows, "relations", language) },
            { title: texts.seconds, number: true, cell: (one) => (one.status === "indexed" ? duration(one.seconds) : "") },
            { title: texts.bytes, cell: (one) => one.digest && <code title={one.digest}>{one.digest.slice(0, SHOWN)}</code> },
          ]}
        />
      )}
    </section>
  );
}

/** A figure, and by how much it differs from that of the version before. */
function changed(one: Revision, rows: readonly Revision[], name: "chunks" | "entities" | "relations", language: ViewProps["language"]): string {
  if (one.status === "refused") return "";
  const before = rows.slice(rows.indexOf(one) + 1).find((other) => other.status === "indexed");
  const by = before ? one[name] - before[name] : 0;
  return by ? `${figure(one[name], language)} (${by > 0 ? "+" : "−"}${figure(Math.abs(by), language)})` : figure(one[name], language);
}
