/** The entity or relation that was chosen, and the passages that show it. */

import { useEffect, useRef } from "preact/hooks";
import { Empty, Failure } from "../../components/states";
import { linkTo } from "../../route";
import type { ConsoleTexts } from "../../texts";
import type { Choice } from "./exploration";
import type { GraphTexts } from "./texts";
import type { Entity, ProvingPassage } from "./types";

interface Props {
  choice: Choice | null;
  entityOf: (id: string) => string;
  expanded: ReadonlySet<string>;
  onward: Readonly<Record<string, number>>;
  busy: boolean;
  error: unknown;
  texts: GraphTexts;
  common: ConsoleTexts;
  expand: (entity: Entity) => void;
}

export function Chosen({ choice, entityOf, expanded, onward, busy, error, texts, common, expand }: Props) {
  const entity = choice?.entity;
  const relation = choice?.relation;
  const names = relation ? [entityOf(relation.subject), entityOf(relation.target)] : entity ? [entity.name] : [];
  const unread = entity && expanded.has(entity.id) ? onward[entity.id] : 0;
  const panel = useRef<HTMLElement>(null);
  // It may have been chosen in a list far below.
  useEffect(() => (choice ? panel.current?.scrollIntoView({ block: "nearest" }) : undefined), [choice]);
  return (
    <section ref={panel} class="panel stack graph-chosen" aria-live="polite" aria-busy={busy}>
      {Boolean(error) && <Failure error={error} common={common} />}
      {!choice && (
        <Empty title={texts.nothingChosen}>
          <p>{texts.nothingChosenHint}</p>
        </Empty>
      )}
      {entity && (
        <>
          <h2>{entity.name}</h2>
          <p class="muted">
            {texts.kinds[entity.kind] ?? entity.kind}. {texts.mentioned(entity.passages)}.
          </p>
          {(!expanded.has(entity.id) || Boolean(unread)) && (
            <div class="row">
              <button type="button" disabled={busy} onClick={() => expand(entity)}>
                {unread ? texts.moreRelations : texts.expand}
              </button>
            </div>
          )}
        </>
      )}
      {relation && (
        <>
          <h2>
            {entityOf(relation.subject)} <span class="muted">{texts.relations[relation.kind]}</span> {entityOf(relation.target)}
          </h2>
          <p class="muted">
            {texts.statedBy}{" "}
            {relation.sources.map((one, at) => (
              <>
                {at > 0 && ", "}
                <a href={linkTo("documents", [one])}>{one}</a>
              </>
            ))}
            {relation.stated > relation.sources.length && ` ${texts.andMore(relation.stated - relation.sources.length)}`}
          </p>
        </>
      )}
      {choice && choice.passages.length === 0 && <p>{texts.noPassage}</p>}
      {choice?.passages.map((one) => <ShownPassage key={one.id} passage={one} names={names} />)}
    </section>
  );
}

function ShownPassage({ passage, names }: { passage: ProvingPassage; names: readonly string[] }) {
  return (
    <figure class="passage">
      <blockquote>
        {marked(passage.text, names).map((part, at) => (part.name ? <mark key={at}>{part.text}</mark> : part.text))}
      </blockquote>
      <figcaption class="muted">
        <a href={linkTo("documents", [passage.source])}>{passage.title || passage.source}</a>
      </figcaption>
    </figure>
  );
}

/** The text in parts: names of the entities, and what is between them. */
function marked(text: string, names: readonly string[]): { text: string; name: boolean }[] {
  const known = names.filter(Boolean).sort((one, other) => other.length - one.length);
  if (!known.length) return [{ text, name: false }];
  const pattern = known.map((one) => one.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|");
  return text
    .split(new RegExp(`(${pattern})`, "gi"))
    .map((part, at) => ({ text: part, name: at % 2 === 1 }))
    .filter((part) => part.text);
}
