/** The rows of the list: only those near the visible part are in the page, so ten thousand scroll like ten. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Language } from "../../../texts";
import { duration, figure } from "../../formats";
import { linkTo } from "../../route";
import type { LiveList } from "./live";
import type { QuestionTexts } from "./texts";
import type { QuestionLine } from "./types";

/** The height of a row in CSS pixels, as in questions.css. */
const ROW = 44;
/** Rows beyond the visible part. */
const BEYOND = 12;
/** Rows before the end at which the next page is loaded. */
const AHEAD = 100;
const COLUMNS = 7;
/** Made once: making one takes longer than formatting a hundred times. */
const SHORT: Record<Language, Intl.DateTimeFormat> = {
  en: new Intl.DateTimeFormat("en", { dateStyle: "short", timeStyle: "medium" }),
  fr: new Intl.DateTimeFormat("fr", { dateStyle: "short", timeStyle: "medium" }),
};

interface Props {
  list: LiveList;
  texts: QuestionTexts;
  language: Language;
}

export function Rows({ list, texts, language }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [place, setPlace] = useState({ top: 0, height: 600 });
  const { lines } = list;
  const anchor = useRef("");

  useEffect(() => {
    const element = box.current!;
    let frame = 0;
    const look = (): void => {
      frame = 0;
      setPlace({ top: element.scrollTop, height: element.clientHeight });
    };
    const later = (): void => void (frame ||= requestAnimationFrame(look));
    const watcher = new ResizeObserver(later);
    watcher.observe(element);
    element.addEventListener("scroll", later, { passive: true });
    look();
    return () => {
      watcher.disconnect();
      element.removeEventListener("scroll", later);
      cancelAnimationFrame(frame);
    };
  }, []);

  const first = Math.max(0, Math.floor(place.top / ROW) - BEYOND);
  const last = Math.min(lines.length, Math.ceil((place.top + place.height) / ROW) + BEYOND);
  const top = Math.floor(place.top / ROW);

  // Who reads further down is not moved by what comes in above.
  useLayoutEffect(() => {
    const element = box.current!;
    const at = anchor.current && element.scrollTop > ROW ? lines.findIndex((line) => line.id === anchor.current) : -1;
    const here = Math.floor(element.scrollTop / ROW);
    if (at >= 0 && at !== here) element.scrollTop += (at - here) * ROW;
  }, [lines]);
  useLayoutEffect(() => {
    anchor.current = lines[top]?.id ?? "";
  });
  useEffect(() => {
    if (last + AHEAD > lines.length) list.next();
  });

  return (
    <div class="rows" ref={box} tabIndex={0} role="region" aria-label={texts.list}>
      <table aria-rowcount={list.more ? -1 : lines.length + 1}>
        <caption class="hidden">{texts.list}</caption>
        <thead>
          <tr aria-rowindex={1}>
            <th scope="col">{texts.asked}</th>
            <th scope="col">{texts.state}</th>
            <th scope="col">{texts.question}</th>
            <th scope="col">{texts.pipeline}</th>
            <th scope="col" class="number-cell">{texts.took}</th>
            <th scope="col" class="number-cell">{texts.tokens}</th>
            <th scope="col">{texts.ratings}</th>
          </tr>
        </thead>
        <tbody>
          <Gap rows={first} />
          {lines.slice(first, last).map((line, number) => (
            <tr key={line.id} aria-rowindex={first + number + 2}>
              <Cells line={line} texts={texts} language={language} />
            </tr>
          ))}
          <Gap rows={lines.length - last} />
        </tbody>
      </table>
    </div>
  );
}

/** The place of rows that are not in the page. */
function Gap({ rows }: { rows: number }) {
  if (rows <= 0) return null;
  return (
    <tr class="gap" aria-hidden="true">
      <td colSpan={COLUMNS} style={{ height: `${rows * ROW}px` }} />
    </tr>
  );
}

function Cells({ line, texts, language }: { line: QuestionLine; texts: QuestionTexts; language: Language }) {
  const tokens = line.usage.input_tokens + line.usage.output_tokens;
  const words = line.question || (line.status === "running" ? texts.notModerated : texts.noText);
  return (
    <>
      <td>
        <time dateTime={line.asked_at}>{SHORT[language].format(new Date(line.asked_at))}</time>
      </td>
      <td>
        <StateBadge line={line} texts={texts} />
      </td>
      <td class="text-cell">
        <a href={linkTo("questions", [line.id])} title={words}>
          {words}
        </a>
      </td>
      <td>
        {line.pipeline}
        {line.parent && <span class="muted"> · {texts.replay}</span>}
        {!line.parent && line.lane === "background" && <span class="muted"> · {texts.lanes[line.lane]}</span>}
      </td>
      <td class="number-cell">{line.status === "ended" ? duration(line.elapsed_ms / 1000) : ""}</td>
      <td class="number-cell">{tokens ? figure(tokens, language) : ""}</td>
      <td>
        {line.feedback_up > 0 && <span aria-label={`${texts.rated["up"]}: ${line.feedback_up}`} role="img">+{line.feedback_up} </span>}
        {line.feedback_down > 0 && <span aria-label={`${texts.rated["down"]}: ${line.feedback_down}`} role="img">−{line.feedback_down}</span>}
      </td>
    </>
  );
}

const GOOD = new Set(["answered", "reused"]);
const BAD = new Set(["abandoned", "escalated"]);

/** How a question ended, or in which stage it is. */
export function StateBadge({ line, texts }: { line: Pick<QuestionLine, "status" | "stage" | "outcome" | "attempt">; texts: QuestionTexts }) {
  if (line.status === "ended") {
    const colour = GOOD.has(line.outcome) ? "good" : BAD.has(line.outcome) ? "bad" : "";
    return <span class={`badge ${colour}`}>{texts.outcomes[line.outcome] ?? line.outcome}</span>;
  }
  return (
    <span class="badge moving" data-stage={line.stage}>
      {texts.in(line.stage)}
      {line.attempt > 0 && ` · ${texts.attempt(line.attempt + 1)}`}
    </span>
  );
}
