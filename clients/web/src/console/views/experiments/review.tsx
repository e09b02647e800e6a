/** One pair after another: a question, two answers in an order that the server has drawn, and what the expert says. */

import { useEffect, useRef, useState } from "preact/hooks";
import { Empty, Failure, Loading } from "../../components/states";
import { useAction, useLoaded } from "../../loading";
import { moment } from "../../formats";
import type { Reply } from "../../reply";
import type { PartProps } from ".";

type Task = Reply<"BlindTask">;
type Pair = NonNullable<Task["pair"]>;
type Choice = Reply<"PairJudgementIn">["choice"];

const KEYS: Record<string, Choice> = { "1": "a", a: "a", "2": "b", b: "b", "0": "tie", "9": "bad" };

export function ReviewPage({ api, common, id, language, texts }: PartProps) {
  const [after, setAfter] = useState(0);
  const [again, setAgain] = useState<Pair | null>(null);
  const [before, setBefore] = useState<Pair | null>(null);
  const [comment, setComment] = useState("");
  const [judged, setJudged] = useState(0);
  const sending = useAction();
  const heading = useRef<HTMLHeadingElement>(null);
  const loaded = useLoaded((signal) => api.get<Task>(`/api/v1/reviews/${id}/next`, { after }, signal), [api, id, after]);
  const pair = again ?? loaded.value?.pair ?? null;
  // What was just judged stands there until the next pair has come: no key may judge it for that one.
  const waiting = sending.busy || (!again && (loaded.busy || pair?.number === judged));

  const show = (one: Pair | null): void => {
    setAgain(one);
    setComment("");
    sending.clear();
  };
  const judge = (choice: Choice): void => {
    if (!pair || waiting) return;
    void sending.run(async () => {
      await api.send("PUT", `/api/v1/reviews/${id}/pairs/${pair.number}`, { choice, comment });
      setBefore(pair);
      setJudged(pair.number);
      show(null);
      loaded.reload();
    });
  };
  const pass = (): void => {
    if (!pair || waiting) return;
    const { number } = pair;
    show(null);
    if (!again) setAfter(number);
  };
  const undo = (): void => {
    if (!before || waiting) return;
    show(before);
    setBefore(null);
  };
  // The keys do what this rendering would: effects may run after the next key.
  const acts = useRef<(key: string) => boolean>(() => false);
  acts.current = (key) => {
    const act = KEYS[key] ? () => judge(KEYS[key]!) : key === "s" ? pass : key === "u" ? undo : null;
    act?.();
    return act !== null;
  };
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      const typing = event.target instanceof HTMLElement && event.target.matches("input, textarea, select");
      if (typing || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
      if (acts.current(event.key.toLowerCase())) event.preventDefault();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
  useEffect(() => heading.current?.focus(), [pair?.number]);

  if (loaded.error && !loaded.value) return <Failure error={loaded.error} common={common} retry={loaded.reload} />;
  if (!loaded.value) return <Loading common={common} />;
  const { review } = loaded.value;
  return (
    <div class="stack">
      <h2>{review.title || texts.untitled(moment(review.at, language))}</h2>
      <p>
        <progress max={Math.max(1, review.total)} value={review.done} aria-label={texts.progress} /> {texts.progressOf(review.done, review.total)}
      </p>
      <p class="hidden" role="status">
        {judged ? texts.kept(judged) : ""}
      </p>
      {Boolean(loaded.error) && <Failure error={loaded.error} common={common} retry={loaded.reload} />}
      {pair ? (
        <>
          <h3 ref={heading} tabIndex={-1} class="asked">
            {pair.question || texts.question}
          </h3>
          <div class="pair-sides">
            {(["a", "b"] as const).map((place) => (
              <section key={place} class="panel stack" aria-label={texts.answer(place.toUpperCase())}>
                <h4>{texts.answer(place.toUpperCase())}</h4>
                <p class="side-answer">{pair[place]}</p>
              </section>
            ))}
          </div>
          <label class="stack">
            {texts.comment}
            <textarea rows={2} maxLength={2000} value={comment} onInput={(event) => setComment(event.currentTarget.value)} />
          </label>
          {Boolean(sending.error) && <Failure error={sending.error} common={common} />}
          <div class="row pair-choices">
            {(["a", "tie", "bad", "b"] as const).map((choice) => (
              <button key={choice} type="button" class={choice.length === 1 ? "primary" : ""} disabled={waiting} onClick={() => judge(choice)}>
                {choice === "a" ? texts.better_a : choice === "b" ? texts.better_b : texts[choice]}
              </button>
            ))}
            <button type="button" class="quiet" onClick={pass}>
              {texts.pass}
            </button>
          </div>
          <p class="muted">{texts.keys}</p>
        </>
      ) : (
        <Empty title={review.done < review.total ? texts.passed : texts.allDone}>
          <p>{review.done < review.total ? texts.passedText : texts.allDoneText}</p>
          {review.done < review.total && (
            <button type="button" onClick={() => (setAfter(0), loaded.reload())}>
              {texts.fromBeginning}
            </button>
          )}
        </Empty>
      )}
      {before && (
        <div class="row">
          <button type="button" class="quiet" disabled={waiting} onClick={undo}>
            {texts.undo}
          </button>
        </div>
      )}
    </div>
  );
}
