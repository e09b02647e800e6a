/** Starts the console: chooses its language, finds out who looks, and shows the views that they may see. */

import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { enter, leave, signedIn, type Signed } from "../access";
import { Login } from "../components/login";
import { LOGIN_ENDED, LoginError, type LoginProblem } from "../issuer";
import { keepLanguage, keptLanguage, textsOf } from "../texts";
import { Api } from "./api";
import { Empty, Failure, Loading } from "./components/states";
import { Shell } from "./shell";
import { consoleTexts } from "./texts";
import type { Caller } from "./views/registry";

function Page() {
  const [language, setLanguage] = useState(keptLanguage);
  const [signed, setSigned] = useState<Signed | null | "opening">("opening");
  const [error, setError] = useState<unknown>(null);
  const common = consoleTexts(language);

  const [problem, setProblem] = useState<LoginProblem | null>(null);

  const failed = (why: LoginProblem): void => (setProblem(why), setSigned(null));
  const open = (): void => {
    setError(null);
    setProblem(null);
    signedIn(sessionStorage).then(setSigned, (error: unknown) => (error instanceof LoginError ? failed(error.problem) : setError(error)));
  };
  useEffect(open, []);
  useEffect(() => {
    document.documentElement.lang = language;
  }, [language]);

  useEffect(() => {
    const ended = (event: Event): void => failed((event as CustomEvent<LoginProblem>).detail);
    addEventListener(LOGIN_ENDED, ended);
    return () => removeEventListener(LOGIN_ENDED, ended);
  }, []);

  const tryKey = async (key: string): Promise<boolean> => {
    const found = await enter(sessionStorage, key);
    if (found) setSigned(found);
    return found !== null;
  };
  const forget = (): void => void (leave(sessionStorage) || setSigned(null));

  if (error) return <main class="empty"><Failure error={error} common={common} retry={open} /></main>;
  if (signed === "opening") return <main class="empty"><Loading common={common} /></main>;
  if (signed === null) return <Login texts={{ ...textsOf(language), login: common.login, signInTitle: common.signInTitle }} problem={problem} enter={tryKey} />;
  const leaving = signed.by === "login" ? textsOf(language).logout : common.leave;
  if (signed.caller.role === "client") {
    return (
      <main>
        <Empty title={common.noAccessTitle}>
          <p>{common.noAccess}</p>
          {signed.by !== "nothing" && (
            <button type="button" onClick={forget}>
              {leaving}
            </button>
          )}
        </Empty>
      </main>
    );
  }
  const choose = (wanted: typeof language): void => (keepLanguage(wanted), setLanguage(wanted));
  return <Shell api={new Api(signed.fetch, signed.token)} caller={signed.caller as Caller} language={language} setLanguage={choose} leave={signed.by === "nothing" ? null : forget} leaving={leaving} />;
}

render(<Page />, document.getElementById("page")!);
