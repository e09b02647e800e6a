/** The facts of a question with their payloads; a replay can begin with most of them. */

import { useState } from "preact/hooks";
import { duration } from "../../formats";
import { linkTo } from "../../route";
import { useObstacle } from "../../operations";
import type { ViewProps } from "../registry";
import { Json } from "./json";
import type { PartProps } from "./question";
import type { QuestionTexts } from "./texts";
import type { RecordedFact } from "./types";

export function Facts({ found, texts, api }: PartProps & { caller: ViewProps["caller"] }) {
  const obstacle = useObstacle(api, "replay");
  if (!found.facts.length) return null;
  return (
    <section class="stack" aria-labelledby="facts">
      <h3 id="facts">{texts.facts}</h3>
      <ol class="facts">
        {found.facts.map((fact) => (
          <li key={fact.sequence}>
            <OneFact id={found.id} fact={fact} texts={texts} replay={!obstacle} />
          </li>
        ))}
      </ol>
    </section>
  );
}

function OneFact({ id, fact, texts, replay }: { id: string; fact: RecordedFact; texts: QuestionTexts; replay: boolean }) {
  const [open, setOpen] = useState(false);
  return (
    <details class="panel" open={open} onToggle={(event) => event.target === event.currentTarget && setOpen(event.currentTarget.open)}>
      <summary>
        <b>{fact.step}</b> <span class="muted">{fact.published_by} · {duration(fact.at_ms / 1000)}</span>
      </summary>
      {open && (
        <div class="stack">
          {fact.withheld && <p class="muted">{texts.withheld}</p>}
          <Json value={fact.payload} texts={texts} open />
          {fact.replayable && replay && (
            <p>
              <a href={linkTo("questions", [id, "replay"], { from: fact.step })}>{texts.replayTitle} …</a>
            </p>
          )}
        </div>
      )}
    </details>
  );
}
