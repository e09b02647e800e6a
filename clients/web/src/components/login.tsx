/** Asks for a key where the platform has keys and no sessions for visitors. */

import { useState } from "preact/hooks";
import type { Texts } from "../texts";

interface Props {
  texts: Texts;
  /** Whether the server knows the key. */
  enter: (key: string) => Promise<boolean>;
}

export function Login({ texts, enter }: Props) {
  const [key, setKey] = useState("");
  const [refused, setRefused] = useState(false);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setRefused(!(await enter(key.trim())));
  };
  return (
    <main class="login">
      <form onSubmit={(event) => void submit(event)}>
        <h1>{texts.login}</h1>
        <label>
          {texts.key}
          <input type="password" autocomplete="off" required value={key} aria-describedby="key-hint" onInput={(event) => setKey(event.currentTarget.value)} />
        </label>
        <p id="key-hint" class="muted">
          {texts.keyHint}
        </p>
        {refused && (
          <p class="failure" role="alert">
            {texts.errors.key}
          </p>
        )}
        <button type="submit" class="primary">
          {texts.enter}
        </button>
      </form>
    </main>
  );
}
