/** The graph: entities and relations of a document, of a question or by name, expandable step by step. */

import { useRef, useState } from "preact/hooks";
import { Empty, Failure, Loading } from "../../components/states";
import { Table, type Column } from "../../components/table";
import { figure } from "../../formats";
import { useLoaded } from "../../loading";
import { linkTo } from "../../route";
import type { ViewProps } from "../registry";
import { Chosen } from "./chosen";
import { useExploration } from "./exploration";
import "./graph.css";
import { Picture } from "./picture";
import { graphTexts, type GraphTexts } from "./texts";
import { keyOf, KINDS, type Entity, type Kind, type Relation } from "./types";

const ORIGINS = ["text", "source", "question"] as const;
type Origin = (typeof ORIGINS)[number];

export default function GraphView({ api, caller, language, common, query, go }: ViewProps) {
  const texts = graphTexts(language);
  const origin: Origin = query.get("question") ? "question" : query.get("source") ? "source" : "text";
  const value = query.get(origin) ?? "";
  const kind = query.get("kind") ?? "";
  const { shown, choice, grown, error, reload, action, choose, expand, chooseRelation, more } = useExploration(api, { [origin]: value, kind });
  const entityOf = (id: string): string => shown?.entities.find((one) => one.id === id)?.name ?? id;
  const picked = useRef("");
  // The first time an entity is chosen in the picture, it is shown; the second time (also of a double click), what it
  // is related to.
  const pick = (one: Entity): void => {
    const again = picked.current === one.id && !shown?.expanded.has(one.id);
    picked.current = one.id;
    (again ? expand : choose)(one);
  };

  return (
    <>
      <Controls key={query.toString()} texts={texts} origin={origin} value={value} kind={kind} go={go} />
      {caller.role === "operator" && <Whole api={api} texts={texts} language={language} />}
      {Boolean(error) && <Failure error={error} common={common} retry={reload} />}
      {!shown && !error && <Loading common={common} />}
      {shown && shown.entities.length === 0 && (
        <Empty title={texts.empty}>
          <p>{texts.emptyHint}</p>
        </Empty>
      )}
      {shown && shown.entities.length > 0 && (
        <div class="graph">
          <div class="stack graph-main">
            <section class="stack" aria-labelledby="graph-picture">
              <h2 id="graph-picture">{texts.picture}</h2>
              <p class="muted">{texts.pictureHint}</p>
              <Picture {...shown} chosen={choice?.key ?? ""} texts={texts} choose={pick} chooseRelation={chooseRelation} />
              <p class="muted" role="status">
                {grown ? texts.added(grown.name || texts.entities, grown.entities, grown.relations) : ""}
              </p>
            </section>
            <div class="stack graph-lists">
              <Table caption={texts.entities} columns={entityColumns(texts, choose, expand, shown.expanded, action.busy)} rows={shown.entities} keyOf={(one) => one.id} />
              {shown.after > 0 && (
                <div class="row">
                  <button type="button" disabled={action.busy} onClick={more}>
                    {texts.more}
                  </button>
                </div>
              )}
              {shown.relations.length > 0 && (
                <Table caption={texts.relationList} columns={relationColumns(texts, entityOf, chooseRelation, action.busy)} rows={shown.relations} keyOf={keyOf} />
              )}
            </div>
          </div>
          <Chosen
            choice={choice}
            entityOf={entityOf}
            expanded={shown.expanded}
            onward={shown.onward}
            busy={action.busy}
            error={action.error}
            texts={texts}
            common={common}
            expand={expand}
          />
        </div>
      )}
    </>
  );
}

interface ControlsProps {
  texts: GraphTexts;
  origin: Origin;
  value: string;
  kind: string;
  go: (hash: string) => void;
}

function Controls({ texts, origin, value, kind, go }: ControlsProps) {
  const [by, setBy] = useState<Origin>(origin);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const given = new FormData(event.currentTarget as HTMLFormElement);
    go(linkTo("graph", [], { [by]: String(given.get("value") ?? "").trim(), kind: String(given.get("kind") ?? "") }));
  };
  return (
    <form class="filters" role="search" onSubmit={submit}>
      <label>
        {texts.of}
        <select value={by} onChange={(event) => setBy(event.currentTarget.value as Origin)}>
          {ORIGINS.map((one) => (
            <option key={one} value={one}>
              {texts.by[one]}
            </option>
          ))}
        </select>
      </label>
      <label class="graph-value">
        {texts.labels[by]}
        <input key={by} name="value" type="search" maxLength={1000} required={by !== "text"} defaultValue={by === origin ? value : ""} />
      </label>
      <label>
        {texts.kind}
        <select name="kind" defaultValue={kind}>
          <option value="">{texts.allKinds}</option>
          {KINDS.map((one) => (
            <option key={one} value={one} selected={one === kind}>
              {texts.kinds[one]}
            </option>
          ))}
        </select>
      </label>
      <button type="submit" class="primary">
        {texts.show}
      </button>
    </form>
  );
}

interface Statistics {
  index: { entities: Record<string, number>; relations: Record<string, number> };
}

/** How many entities and relations of each kind the whole graph has. */
function Whole({ api, texts, language }: Pick<ViewProps, "api" | "language"> & { texts: GraphTexts }) {
  const { value } = useLoaded((signal) => api.get<Statistics>("/api/v1/stats", {}, signal), []);
  const sum = (counts: Record<string, number>): number => Object.values(counts).reduce((all, one) => all + one, 0);
  const { entities, relations } = value?.index ?? { entities: {}, relations: {} };
  const told = value ? `${texts.entitiesOf(figure(sum(entities), language))}, ${texts.relationsOf(figure(sum(relations), language))}` : "…";
  return (
    <details class="whole">
      <summary>
        {texts.whole(told)}
      </summary>
      <ul class="row">
        {Object.entries(entities).map(([kind, count]) => (
          <li key={kind} class="badge">
            {texts.kinds[kind as Kind] ?? kind}: {figure(count, language)}
          </li>
        ))}
        {Object.entries(relations).map(([kind, count]) => (
          <li key={kind} class="badge">
            {texts.relations[kind as Relation["kind"]] ?? kind}: {figure(count, language)}
          </li>
        ))}
      </ul>
    </details>
  );
}

function entityColumns(texts: GraphTexts, choose: (one: Entity) => void, expand: (one: Entity) => void, expanded: ReadonlySet<string>, busy: boolean): Column<Entity>[] {
  return [
    {
      title: texts.entity,
      cell: (one) => (
        <button type="button" class="quiet link" aria-label={texts.choose(one.name)} onClick={() => choose(one)}>
          {one.name}
        </button>
      ),
    },
    { title: texts.kind, cell: (one) => texts.kinds[one.kind] ?? one.kind },
    { title: texts.passages, cell: (one) => one.passages, number: true },
    {
      title: texts.actions,
      cell: (one) =>
        expanded.has(one.id) ? (
          <span class="muted">{texts.expanded}</span>
        ) : (
          <button type="button" aria-label={texts.expandNamed(one.name)} disabled={busy} onClick={() => expand(one)}>
            {texts.expand}
          </button>
        ),
    },
  ];
}

function relationColumns(texts: GraphTexts, entityOf: (id: string) => string, choose: (one: Relation) => void, busy: boolean): Column<Relation>[] {
  const words = (one: Relation): string => `${entityOf(one.subject)} ${texts.relations[one.kind]} ${entityOf(one.target)}`;
  return [
    { title: texts.subject, cell: (one) => entityOf(one.subject) },
    { title: texts.relation, cell: (one) => texts.relations[one.kind] ?? one.kind },
    { title: texts.target, cell: (one) => entityOf(one.target) },
    {
      title: texts.actions,
      cell: (one) => (
        <button type="button" aria-label={texts.proofNamed(words(one))} disabled={busy} onClick={() => choose(one)}>
          {texts.proof}
        </button>
      ),
    },
  ];
}
