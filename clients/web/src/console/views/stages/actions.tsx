/** Pause, resume, drain and scale, each with its confirmation; disabled with the reason where this gateway may not. */

import { useId, useRef, useState } from "preact/hooks";
import type { Language } from "../../../texts";
import type { Api } from "../../api";
import { Confirm } from "../../components/dialog";
import { Failure } from "../../components/states";
import { figure } from "../../formats";
import { useAction } from "../../loading";
import type { Operations } from "../../operations";
import type { ConsoleTexts } from "../../texts";
import { totalOf, type Report } from "./figures";
import type { StageTexts } from "./texts";

interface Props {
  stage: string;
  reports: readonly Report[];
  actions: Operations["actions"];
  api: Api;
  common: ConsoleTexts;
  language: Language;
  texts: StageTexts;
  say: (words: string) => void;
}

type Asking = "pause" | "drain" | "scale" | null;

export function StageActions({ stage, reports, actions, api, common, language, texts, say }: Props) {
  const total = totalOf(reports, stage);
  const [asking, setAsking] = useState<Asking>(null);
  const [lane, setLane] = useState("");
  const [seconds, setSeconds] = useState("0");
  const [patience, setPatience] = useState("60");
  const [workers, setWorkers] = useState("1");
  const { busy, error, run, clear } = useAction();
  const abort = useRef<AbortController | null>(null);
  const why = useId();
  const allowed = actions.stages?.allowed ?? false;
  const scalable = actions.scale?.allowed ?? false;
  const lanes = lane ? { lane } : {};

  const open = (what: Asking): void => {
    clear();
    if (what === "scale") setWorkers(String(Math.max(1, total.workers)));
    setAsking(what);
  };
  const close = (): void => {
    abort.current?.abort();
    setAsking(null);
  };
  const send = (verb: string, body: object, done: string): Promise<boolean> => {
    abort.current = new AbortController();
    const { signal } = abort.current;
    return run(async () => {
      await api.send("POST", `/api/v1/stages/${stage}/${verb}`, body, signal);
      say(done);
    });
  };
  const confirm = async (verb: string, body: object, done: string): Promise<void> => {
    if (await send(verb, body, done)) setAsking(null);
  };
  const dialog = { common, close, busy, error };

  return (
    <>
      <div class="row">
        {total.consumers > 0 && (
          <>
            <button type="button" disabled={!allowed} aria-describedby={allowed ? undefined : why} onClick={() => open("pause")}>
              {texts.pause}
            </button>
            <button type="button" disabled={!allowed || !total.paused || busy} aria-describedby={allowed ? undefined : why} onClick={() => void send("resume", {}, texts.isResumed(stage))}>
              {texts.resume}
            </button>
            <button type="button" disabled={!allowed} aria-describedby={allowed ? undefined : why} onClick={() => open("drain")}>
              {texts.drain}
            </button>
          </>
        )}
        {scalable && (
          <button type="button" onClick={() => open("scale")}>
            {texts.scale}
          </button>
        )}
      </div>
      {!allowed && (
        <p id={why} class="muted">
          {texts.readOnly(actions.stages?.reason ?? "")}
        </p>
      )}
      {allowed && !scalable && <p class="muted">{texts.cannotScale(actions.scale?.reason ?? "")}</p>}
      {!asking && Boolean(error) && <Failure error={error} common={common} />}
      {asking === "pause" && (
        <Confirm {...dialog} title={texts.pauseTitle(stage)} action={texts.pauseAction} danger confirm={() => void confirm("pause", { ...lanes, seconds: Number(seconds) }, texts.isPaused(stage))}>
          <p>{texts.pauseText}</p>
          <div class="filters">
            <Choice label={texts.lane} value={lane} set={setLane} options={laneOptions(texts)} />
            <Choice label={texts.howLong} value={seconds} set={setSeconds} options={Object.entries(texts.durations)} />
          </div>
        </Confirm>
      )}
      {asking === "drain" && (
        <Confirm {...dialog} title={texts.drainTitle(stage)} action={texts.drainAction} danger confirm={() => void confirm("drain", { ...lanes, timeout: Number(patience) }, texts.isPaused(stage))}>
          <p>{texts.drainText}</p>
          <div class="filters">
            <Choice label={texts.lane} value={lane} set={setLane} options={laneOptions(texts)} />
            <Choice label={texts.patience} value={patience} set={setPatience} options={Object.entries(texts.patiences)} />
          </div>
          <p role="status">{busy ? texts.draining(figure(total.pending, language), figure(total.inFlight, language)) : ""}</p>
        </Confirm>
      )}
      {asking === "scale" && (
        <Confirm {...dialog} title={texts.scaleTitle(stage)} action={texts.scaleAction} confirm={() => void confirm("scale", { workers: Number(workers) }, texts.isScaled(stage, Number(workers)))}>
          <p>{texts.scaleText}</p>
          <div class="filters">
            <label>
              {texts.number}
              <input type="number" min="1" max="64" value={workers} onInput={(event) => setWorkers(event.currentTarget.value)} />
            </label>
          </div>
          <p role="status">{busy ? texts.scaling : ""}</p>
        </Confirm>
      )}
    </>
  );
}

function laneOptions(texts: StageTexts): [string, string][] {
  return [
    ["", texts.lanes.both],
    ["live", texts.lanes.live],
    ["background", texts.lanes.background],
  ];
}

interface ChoiceProps {
  label: string;
  value: string;
  set: (value: string) => void;
  options: [string, string][];
}

function Choice({ label, value, set, options }: ChoiceProps) {
  return (
    <label>
      {label}
      <select value={value} onChange={(event) => set(event.currentTarget.value)}>
        {options.map(([name, words]) => (
          <option key={name} value={name}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}
