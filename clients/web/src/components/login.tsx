/** Asks for a key, or for a login at the issuer: what the platform has, and pages inside a frame can do. */

import { useEffect, useState } from "preact/hooks";
import { beginLogin, LoginError, loginMethods, type LoginProblem, type Methods, type Provider } from "../issuer";
import type { Texts } from "../texts";

interface Props {
  texts: Texts;
  /** Why a login failed just now. */
  problem: LoginProblem | null;
  /** Whether the server knows the key. */
  enter: (key: string) => Promise<boolean>;
  /** Go on as a visitor, where there are sessions for them. */
  visit?: () => void;
}

export function Login({ texts, problem, enter, visit }: Props) {
  const [methods, setMethods] = useState<Methods | "loading" | "unreachable">("loading");
  const [failed, setFailed] = useState<LoginProblem | null>(null);
  const load = (): void => {
    setMethods("loading");
    loginMethods().then(setMethods, () => setMethods("unreachable"));
  };
  useEffect(load, []);

  if (methods === "loading") return <main class="login"><p role="status">{texts.loading}</p></main>;
  const known = methods === "unreachable" ? null : methods;
  // No issuer shows its page in a frame.
  const provider = window.top === window.self ? known?.provider : null;
  const shown = failed ?? problem;
  const begin = (chosen: Provider): void => {
    beginLogin(sessionStorage, chosen).catch((error: unknown) => setFailed(error instanceof LoginError ? error.problem : "failed"));
  };
  return (
    <main class="login">
      <h1>{provider ? texts.signInTitle : texts.login}</h1>
      {shown && (
        <p class="failure" role="alert">
          {texts.loginProblems[shown]}
        </p>
      )}
      {(!known || known.problem) && (
        <p class="failure" role="alert">
          {known ? texts.loginProblems.unreachable : texts.errors.connection}{" "}
          <button type="button" onClick={load}>
            {texts.tryAgain}
          </button>
        </p>
      )}
      {provider && (
        <section>
          <button type="button" class="primary" onClick={() => begin(provider)}>
            {texts.signIn}
          </button>
          <p class="muted">{texts.signInHint(new URL(provider.issuer).host)}</p>
        </section>
      )}
      {(known?.keys ?? true) && <KeyForm texts={texts} enter={enter} heading={provider ? texts.orKey : ""} />}
      {known?.sessions && visit && (
        <button type="button" class="quiet" onClick={visit}>
          {texts.visit}
        </button>
      )}
    </main>
  );
}

function KeyForm({ texts, enter, heading }: { texts: Texts; enter: (key: string) => Promise<boolean>; heading: string }) {
  const [key, setKey] = useState("");
  const [refused, setRefused] = useState<"key" | "connection" | null>(null);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setRefused(await enter(key.trim()).then((known) => (known ? null : "key"), () => "connection" as const));
  };
  return (
    <form onSubmit={(event) => void submit(event)}>
      {heading && <h2>{heading}</h2>}
      <label>
        {texts.key}
        <input type="password" autocomplete="off" required value={key} aria-describedby="key-hint" onInput={(event) => setKey(event.currentTarget.value)} />
      </label>
      <p id="key-hint" class="muted">
        {texts.keyHint}
      </p>
      {refused && (
        <p class="failure" role="alert">
          {texts.errors[refused]}
        </p>
      )}
      <button type="submit" class={heading ? "" : "primary"}>
        {texts.enter}
      </button>
    </form>
  );
}
