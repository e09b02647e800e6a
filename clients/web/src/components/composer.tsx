/** Where a question is written; Enter sends, Shift+Enter begins a line. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { Texts } from "../texts";
import { Icon } from "./icons";

/** The most a question may have; the server refuses more. */
const MOST_CHARS = 4000;

interface Props {
  texts: Texts;
  running: boolean;
  send: (question: string) => void;
  stop: () => void;
}

export function Composer({ texts, running, send, stop }: Props) {
  const [text, setText] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);

  const submit = (event: Event): void => {
    event.preventDefault();
    if (running || !text.trim()) return;
    send(text.trim());
    setText("");
    field.current?.focus();
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) submit(event);
  };
  return (
    <form class="composer" onSubmit={submit}>
      <label class="hidden" for="question">
        {texts.ask}
      </label>
      <textarea
        id="question"
        ref={field}
        rows={Math.min(6, text.split("\n").length)}
        maxLength={MOST_CHARS}
        placeholder={texts.placeholder}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={onKey}
      />
      {running ? (
        <button type="button" class="primary" aria-label={texts.stop} onClick={stop}>
          <Icon name="stop" />
        </button>
      ) : (
        <button type="submit" class="primary" aria-label={texts.send} disabled={!text.trim()}>
          <Icon name="send" />
        </button>
      )}
    </form>
  );
}
