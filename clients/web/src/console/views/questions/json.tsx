/** JSON as a tree of parts that open and close. */

import { useState } from "preact/hooks";
import type { QuestionTexts } from "./texts";

/** Characters of a text that are shown at once. */
const LONG = 1000;

interface Props {
  value: unknown;
  texts: QuestionTexts;
  name?: string;
  open?: boolean;
}

export function Json({ value, texts, name, open = false }: Props) {
  const [shown, setShown] = useState(open);
  const label = name !== undefined && <span class="json-key">{name}: </span>;
  if (typeof value !== "object" || value === null) {
    return (
      <div class="json-line">
        {label}
        <Plain value={value} texts={texts} />
      </div>
    );
  }
  const parts = Object.entries(value);
  const size = Array.isArray(value) ? texts.items(parts.length) : texts.keys(parts.length);
  if (!parts.length) return <div class="json-line">{label}{Array.isArray(value) ? "[]" : "{}"}</div>;
  return (
    <details class="json" open={shown} onToggle={(event) => setShown(event.currentTarget.open)}>
      <summary>
        {label}
        <span class="muted">{size}</span>
      </summary>
      {shown && parts.map(([key, one]) => <Json key={key} name={key} value={one} texts={texts} open={parts.length === 1} />)}
    </details>
  );
}

function Plain({ value, texts }: { value: unknown; texts: QuestionTexts }) {
  const [all, setAll] = useState(false);
  if (typeof value !== "string") return <span class={typeof value === "number" ? "json-number" : "json-word"}>{String(value)}</span>;
  const rest = value.length - LONG;
  return (
    <span class="json-text">
      {JSON.stringify(all || rest <= 0 ? value : value.slice(0, LONG))}
      {!all && rest > 0 && (
        <button type="button" class="quiet" onClick={() => setAll(true)}>
          {texts.rest(String(rest))}
        </button>
      )}
    </span>
  );
}

/** The parts of a JSON text by their kind, for an editor; what is no JSON is left plain. */
export function coloured(text: string): { kind: string; text: string }[] {
  const parts: { kind: string; text: string }[] = [];
  const pattern = /"(?:[^"\\\n]|\\.)*"(\s*:)?|-?\d[\d.eE+-]*|\b(?:true|false|null)\b/g;
  let end = 0;
  for (const found of text.matchAll(pattern)) {
    if (found.index > end) parts.push({ kind: "", text: text.slice(end, found.index) });
    const first = found[0][0]!;
    const kind = first === '"' ? (found[1] !== undefined ? "json-key" : "json-text") : /[-\d]/.test(first) ? "json-number" : "json-word";
    parts.push({ kind, text: found[0] });
    end = found.index + found[0].length;
  }
  return [...parts, { kind: "", text: text.slice(end) }];
}
