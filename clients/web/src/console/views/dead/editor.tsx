/** Edits a payload: checked here whether it is JSON, by the server whether it fits; each fault leads to its field. */

import { ResponseError } from "@answerbus/client";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { Api } from "../../api";
import { Dialog } from "../../components/dialog";
import { Failure, Loading } from "../../components/states";
import { useLoaded } from "../../loading";
import type { ConsoleTexts } from "../../texts";
import { lineOf, placeOf, type Fault, type Letter } from "./letters";
import type { DeadTexts } from "./texts";

interface Props {
  number: string;
  raw: boolean;
  api: Api;
  common: ConsoleTexts;
  texts: DeadTexts;
  close: () => void;
  saved: (number: number) => void;
}

export function Editor({ number, raw, api, common, texts, close, saved }: Props) {
  const address = `/api/v1/dead/${encodeURIComponent(number)}`;
  const letter = useLoaded((signal) => (raw ? Promise.resolve(null) : api.get<Letter>(address, { full: true }, signal)), [api, address]);
  const [text, setText] = useState<string | null>(raw ? '{\n  "text": ""\n}' : null);
  const [faults, setFaults] = useState<Fault[]>([]);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const list = useId();
  useEffect(() => {
    const payload = letter.value?.payload;
    if (letter.value) setText(typeof payload === "string" ? payload : JSON.stringify(payload, null, 2));
  }, [letter.value]);

  const lead = (fault: Fault): void => {
    const from = placeOf(text ?? "", fault.at);
    const end = (text ?? "").indexOf("\n", from);
    field.current?.focus();
    field.current?.setSelectionRange(from, end < 0 ? (text ?? "").length : end);
  };
  const save = async (): Promise<void> => {
    setFaults([]);
    setError(null);
    let payload: unknown;
    try {
      payload = JSON.parse(text ?? "");
    } catch (reason) {
      return setError(new Error(texts.notJson(reason instanceof Error ? reason.message : String(reason))));
    }
    if (typeof payload !== "object" || payload === null || Array.isArray(payload)) return setError(new Error(texts.notObject));
    setBusy(true);
    try {
      saved((await api.send<{ number: number }>("POST", `${address}/edit`, { payload })).number);
    } catch (refusal) {
      const found = refusal instanceof ResponseError ? faultsOf(refusal) : [];
      setFaults(found);
      setError(found.length ? null : refusal);
    } finally {
      setBusy(false);
    }
  };

  return (
    <Dialog title={texts.editTitle(number)} common={common} close={close}>
      <div class="stack">
        <p>{texts.editText}</p>
        {raw && <p class="muted">{texts.editRaw}</p>}
        {Boolean(letter.error) && <Failure error={letter.error} common={common} retry={letter.reload} />}
        {text === null ? (
          !letter.error && <Loading common={common} />
        ) : (
          <label class="stack">
            {texts.json}
            <textarea ref={field} class="json" rows={14} spellcheck={false} value={text} aria-invalid={faults.length > 0 || undefined} aria-describedby={list} onInput={(event) => setText(event.currentTarget.value)} />
          </label>
        )}
        <div id={list} role="alert">
          {faults.length > 0 && (
            <div class="failure">
              <p>{texts.faults}</p>
              <ul>
                {faults.map((fault) => (
                  <li key={fault.at}>
                    <button type="button" class="quiet fault" onClick={() => lead(fault)}>
                      {texts.faultAt(lineOf(text ?? "", placeOf(text ?? "", fault.at)), fault.at, fault.problem)}
                    </button>
                  </li>
                ))}
              </ul>
            </div>
          )}
          {error instanceof ResponseError || !(error instanceof Error) ? Boolean(error) && <Failure error={error} common={common} /> : <p class="failure">{error.message}</p>}
        </div>
        <div class="row end">
          <button type="button" onClick={close}>
            {common.cancel}
          </button>
          <button type="button" class="primary" disabled={busy || text === null} onClick={() => void save()}>
            {texts.save}
          </button>
        </div>
      </div>
    </Dialog>
  );
}

/** The fields that the server named, each once. */
function faultsOf(refusal: ResponseError): Fault[] {
  const errors = (refusal.problem as { errors?: unknown }).errors;
  if (!Array.isArray(errors)) return [];
  const found = errors.filter((one): one is Fault => typeof (one as Fault)?.at === "string" && typeof (one as Fault)?.problem === "string");
  return found.filter((one, at) => found.findIndex((other) => other.at === one.at) === at);
}
