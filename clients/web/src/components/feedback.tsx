/** Rates an answer; a bad rating asks what was wrong. */

import { useState } from "preact/hooks";
import type { Texts } from "../texts";
import { Icon } from "./icons";

export type Rate = (rating: "up" | "down", details: { reason?: string; comment?: string }) => Promise<boolean>;

interface Props {
  rating: "" | "up" | "down";
  rate: Rate;
  texts: Texts;
}

export function Feedback({ rating, rate, texts }: Props) {
  const [asking, setAsking] = useState(false);
  const [reason, setReason] = useState("");
  const [comment, setComment] = useState("");

  const send = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (await rate("down", { ...(reason && { reason }), ...(comment && { comment }) })) setAsking(false);
  };
  return (
    <>
      <button type="button" class="quiet" aria-label={texts.good} aria-pressed={rating === "up"} onClick={() => void rate("up", {})}>
        <Icon name="up" />
      </button>
      <button type="button" class="quiet" aria-label={texts.bad} aria-pressed={rating === "down"} aria-expanded={asking} onClick={() => setAsking(!asking)}>
        <Icon name="down" />
      </button>
      <span class="muted" role="status">
        {rating && !asking && texts.thanks}
      </span>
      {asking && (
        <form class="feedback" onSubmit={(event) => void send(event)}>
          <fieldset>
            <legend>{texts.why}</legend>
            {Object.entries(texts.reasons).map(([name, words]) => (
              <label>
                <input type="radio" name="reason" value={name} checked={reason === name} onChange={() => setReason(name)} /> {words}
              </label>
            ))}
          </fieldset>
          <label>
            {texts.comment}
            <textarea rows={2} maxLength={1000} value={comment} onInput={(event) => setComment(event.currentTarget.value)} />
          </label>
          <div class="row">
            <button type="submit">{texts.submit}</button>
            <button type="button" class="quiet" onClick={() => setAsking(false)}>
              {texts.cancel}
            </button>
          </div>
        </form>
      )}
    </>
  );
}
