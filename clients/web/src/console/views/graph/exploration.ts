/** What of the graph is shown: it grows step by step, by what an entity is related to. */

import { useEffect, useState } from "preact/hooks";
import type { Api, Query } from "../../api";
import { useAction } from "../../loading";
import { places, type Place } from "./layout";
import { keyOf, type EntitiesPage, type Entity, type EntityPage, type ProvingPassage, type Relation } from "./types";

const PAGE = 40;
const RELATIONS = 25;

/** What is chosen: an entity or a relation, with the passages that show it. */
export interface Choice {
  /** The id of the entity or the key of the relation. */
  key: string;
  entity: Entity | null;
  relation: Relation | null;
  passages: ProvingPassage[];
}

interface Shown {
  entities: Entity[];
  relations: Relation[];
  places: ReadonlyMap<string, Place>;
  expanded: ReadonlySet<string>;
  /** For the next page of entities, and of the relations of each expanded one; 0: there are no more. */
  after: number;
  onward: Readonly<Record<string, number>>;
}

const NOTHING: Shown = { entities: [], relations: [], places: new Map(), expanded: new Set(), after: 0, onward: {} };

export function useExploration(api: Api, query: Query) {
  const [shown, setShown] = useState<Shown | null>(null);
  const [choice, setChoice] = useState<Choice | null>(null);
  const [grown, setGrown] = useState<{ name: string; entities: number; relations: number } | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [round, setRound] = useState(0);
  const action = useAction();
  const named = JSON.stringify(query);

  useEffect(() => {
    const abort = new AbortController();
    setShown(null);
    setChoice(null);
    setGrown(null);
    setError(null);
    api.get<EntitiesPage>("/api/v1/graph/entities", { ...query, limit: PAGE }, abort.signal).then(
      (page) => !abort.signal.aborted && setShown({ ...grownBy(NOTHING, page.entities, page.relations), after: page.after }),
      (failure: unknown) => !abort.signal.aborted && setError(failure),
    );
    return () => abort.abort();
  }, [named, round]);

  const read = (id: string, more: Query = {}): Promise<EntityPage> =>
    api.get<EntityPage>(`/api/v1/graph/entities/${encodeURIComponent(id)}`, { limit: RELATIONS, ...more });

  const grow = (page: EntityPage): void => {
    if (!shown) return;
    const next = grownBy(shown, [page.entity, ...page.entities], page.relations);
    setShown({ ...next, expanded: new Set([...shown.expanded, page.entity.id]), onward: { ...shown.onward, [page.entity.id]: page.after } });
    setGrown({ name: page.entity.name, entities: next.entities.length - shown.entities.length, relations: next.relations.length - shown.relations.length });
  };

  const choose = (entity: Entity): void =>
    void action.run(async () => {
      const page = await read(entity.id, { limit: 1 });
      setChoice({ key: entity.id, entity: page.entity, relation: null, passages: page.passages });
    });
  const expand = (entity: Entity): void =>
    void action.run(async () => {
      const page = await read(entity.id, { after: shown?.onward[entity.id] ?? 0 });
      setChoice({ key: entity.id, entity: page.entity, relation: null, passages: page.passages });
      grow(page);
    });
  const chooseRelation = (relation: Relation): void =>
    void action.run(async () => {
      const page = await read(relation.subject, { other: relation.target, limit: 10 });
      const same = page.relations.find((one) => keyOf(one) === keyOf(relation)) ?? relation;
      setChoice({ key: keyOf(relation), entity: null, relation: same, passages: same.passages });
    });
  const more = (): void =>
    void action.run(async () => {
      const page = await api.get<EntitiesPage>("/api/v1/graph/entities", { ...query, limit: PAGE, after: shown?.after ?? 0 });
      if (!shown) return;
      const next = grownBy(shown, page.entities, page.relations);
      setShown({ ...next, after: page.after });
      setGrown({ name: "", entities: next.entities.length - shown.entities.length, relations: next.relations.length - shown.relations.length });
    });

  return { shown, choice, grown, error, reload: () => setRound((before) => before + 1), action, choose, expand, chooseRelation, more };
}

/** The graph with these entities and relations as well, each once. */
function grownBy(shown: Shown, entities: readonly Entity[], relations: readonly Relation[]): Shown {
  const known = new Set(shown.entities.map((one) => one.id));
  const stated = new Set(shown.relations.map(keyOf));
  const all = [...shown.entities, ...entities.filter((one) => !known.has(one.id) && known.add(one.id))];
  const joined = [...shown.relations, ...relations.filter((one) => !stated.has(keyOf(one)) && stated.add(keyOf(one)))];
  return { ...shown, entities: all, relations: joined, places: places(all, joined, shown.places) };
}
