/** One dead letter: why it is one, its payload as far as it may be read, and what can be done to it. */

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Api } from "../../api";
import { Confirm } from "../../components/dialog";
import { Failure, Loading } from "../../components/states";
import { figure, moment } from "../../formats";
import { useAction, useLoaded } from "../../loading";
import { linkTo } from "../../route";
import type { ViewProps } from "../registry";
import { Editor } from "./editor";
import { UNMODERATED, type Letter, type Retried } from "./letters";
import { RetryFields, retryBody, type RetryChoice } from "./retry";
import type { DeadTexts } from "./texts";

interface Props extends ViewProps {
  number: string;
  allowed: boolean;
  notice: ComponentChildren;
  texts: DeadTexts;
}

export function LetterPage({ api, language, common, go, number, query, allowed, notice, texts }: Props) {
  const [full, setFull] = useState(false);
  const letter = useLoaded((signal) => api.get<Letter>(`/api/v1/dead/${encodeURIComponent(number)}`, { full }, signal), [api, number, full]);
  const [asking, setAsking] = useState<"edit" | "retry" | "drop" | null>(null);
  const [choice, setChoice] = useState<RetryChoice>({ lane: "", newest: false, deadline: "0" });
  const [retried, setRetried] = useState<Retried | null>(null);
  const { busy, error, run, clear } = useAction();
  const open = (what: "edit" | "retry" | "drop"): void => (clear(), setAsking(what));
  const close = (): void => setAsking(null);
  const address = `/api/v1/dead/${encodeURIComponent(number)}`;

  const retry = async (): Promise<void> => {
    const done = await run(async () => setRetried(await api.send<Retried>("POST", `${address}/retry`, retryBody(choice))));
    if (done) close();
  };
  const drop = async (): Promise<void> => {
    if (await run(() => api.send("DELETE", address))) go(linkTo("dead"));
  };
  const back = (
    <p>
      <a href={linkTo("dead")}>{texts.back}</a>
    </p>
  );

  if (retried) {
    return (
      <>
        <h2>{texts.letter(number)}</h2>
        <p class="notice">{texts.retried(retried.number)}</p>
        <Progress id={retried.id} api={api} texts={texts} />
        {back}
      </>
    );
  }
  if (letter.error && !letter.value) {
    return (
      <>
        <Failure error={letter.error} common={common} retry={letter.reload} />
        {back}
      </>
    );
  }
  if (!letter.value) return <Loading common={common} />;
  const one = letter.value;
  const raw = one.fact === UNMODERATED;
  const dialog = { common, busy, error, close };
  const described = allowed ? undefined : "read-only";
  return (
    <>
      {back}
      <h2>{texts.letter(number)}</h2>
      {notice}
      {query.get("edited") && <p class="notice" role="status">{texts.wasEdited(one.number)}</p>}
      <div class="row">
        <button type="button" disabled={!allowed} aria-describedby={described} onClick={() => open("edit")}>
          {texts.edit}
        </button>
        <button type="button" class="primary" disabled={!allowed} aria-describedby={described} onClick={() => open("retry")}>
          {texts.retry}
        </button>
        <button type="button" class="danger" disabled={!allowed} aria-describedby={described} onClick={() => open("drop")}>
          {texts.drop}
        </button>
      </div>
      <Pairs letter={one} language={language} texts={texts} />
      {one.stack && (
        <section class="stack">
          <h3>{texts.stack}</h3>
          <pre tabIndex={0} aria-label={texts.stack}>
            {one.stack}
          </pre>
        </section>
      )}
      <section class="stack">
        <div class="row spread">
          <h3>{texts.payload}</h3>
          {!raw && (
            <button type="button" aria-pressed={full} onClick={() => setFull(!full)}>
              {full ? texts.hideTexts : texts.showTexts}
            </button>
          )}
        </div>
        {raw && <p class="muted">{texts.unmoderated}</p>}
        <pre tabIndex={0} aria-label={texts.payload}>
          {typeof one.payload === "string" ? one.payload : JSON.stringify(one.payload, null, 2)}
        </pre>
      </section>
      {asking === "edit" && (
        <Editor number={number} raw={raw} api={api} common={common} texts={texts} close={close} saved={(next) => go(linkTo("dead", [String(next)], { edited: "yes" }))} />
      )}
      {asking === "retry" && (
        <Confirm {...dialog} title={texts.retryTitle(1)} action={texts.retryAction} confirm={() => void retry()}>
          <p>{texts.retryText}</p>
          <RetryFields choice={choice} set={setChoice} texts={texts} />
        </Confirm>
      )}
      {asking === "drop" && (
        <Confirm {...dialog} title={texts.dropTitle(1)} action={texts.dropAction} danger confirm={() => void drop()}>
          <p>{texts.dropText}</p>
        </Confirm>
      )}
    </>
  );
}

function Pairs({ letter, language, texts }: { letter: Letter; language: ViewProps["language"]; texts: DeadTexts }) {
  const { columns } = texts;
  return (
    <dl class="pairs">
      <dt>{texts.error}</dt>
      <dd>
        <span class="badge bad">{letter.kind}</span> {letter.error}
      </dd>
      <dt>{columns.stage}</dt>
      <dd>{letter.stage}</dd>
      <dt>{columns.fact}</dt>
      <dd>
        {letter.fact || "–"} {letter.edited && <span class="badge">{texts.edited}</span>}
      </dd>
      <dt>{columns.time}</dt>
      <dd>{moment(letter.time, language)}</dd>
      <dt>{columns.lane}</dt>
      <dd>{texts.lanes[letter.lane]}</dd>
      <dt>{columns.question}</dt>
      <dd>{letter.id ? <a href={linkTo("questions", [letter.id])}>{letter.id}</a> : "–"}</dd>
      <dt>{texts.subject}</dt>
      <dd>{letter.subject}</dd>
      <dt>{texts.bytes}</dt>
      <dd>{texts.byteCount(figure(letter.bytes, language))}</dd>
    </dl>
  );
}

/** What becomes of the question that a retry has started; it is asked for until it has ended. */
function Progress({ id, api, texts }: { id: string; api: Api; texts: DeadTexts }) {
  const [words, setWords] = useState(texts.running);
  useEffect(() => {
    const abort = new AbortController();
    const watch = async (): Promise<void> => {
      for (let tries = 0; tries < 300 && !abort.signal.aborted; tries += 1) {
        const { status } = await api.get<{ status: string }>(`/api/v1/questions/${id}`, {}, abort.signal);
        if (texts.status[status]) return setWords(texts.status[status]);
        await new Promise((resolve) => setTimeout(resolve, 1000));
      }
      setWords(texts.late);
    };
    watch().catch(() => !abort.signal.aborted && setWords(texts.late));
    return () => abort.abort();
  }, [id, texts]);
  return (
    <p role="status">
      <a href={linkTo("questions", [id])}>{texts.runs}</a> {words}
    </p>
  );
}
