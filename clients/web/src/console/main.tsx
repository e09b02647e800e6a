/** Starts the console: chooses its language, finds out who looks, and shows the views that they may see. */

import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { keep, kept, leave, recognise } from "../access";
import { Login } from "../components/login";
import { keepLanguage, keptLanguage, textsOf } from "../texts";
import { Api } from "./api";
import { Empty, Failure, Loading } from "./components/states";
import { Shell } from "./shell";
import { consoleTexts } from "./texts";
import type { Caller } from "./views/registry";

interface Signed {
  key: string;
  caller: Caller;
}

function Page() {
  const [language, setLanguage] = useState(keptLanguage);
  const [signed, setSigned] = useState<Signed | null | "opening">("opening");
  const [error, setError] = useState<unknown>(null);
  const common = consoleTexts(language);

  const open = (): void => {
    setError(null);
    const key = kept(sessionStorage);
    recognise(key).then((caller) => setSigned(caller && { key, caller: caller as Caller }), setError);
  };
  useEffect(open, []);
  useEffect(() => {
    document.documentElement.lang = language;
  }, [language]);

  const enter = async (key: string): Promise<boolean> => {
    const caller = await recognise(key);
    if (!caller) return false;
    keep(sessionStorage, key);
    setSigned({ key, caller: caller as Caller });
    return true;
  };
  const forget = (): void => (leave(sessionStorage), setSigned(null));

  if (error) return <main class="empty"><Failure error={error} common={common} retry={open} /></main>;
  if (signed === "opening") return <main class="empty"><Loading common={common} /></main>;
  if (signed === null) return <Login texts={{ ...textsOf(language), login: common.login }} enter={enter} />;
  if (signed.caller.role === "client") {
    return (
      <main>
        <Empty title={common.noAccessTitle}>
          <p>{common.noAccess}</p>
          {signed.key && (
            <button type="button" onClick={forget}>
              {common.leave}
            </button>
          )}
        </Empty>
      </main>
    );
  }
  const choose = (wanted: typeof language): void => (keepLanguage(wanted), setLanguage(wanted));
  return <Shell api={new Api(signed.key)} caller={signed.caller} language={language} setLanguage={choose} leave={signed.key ? forget : null} />;
}

render(<Page />, document.getElementById("page")!);
