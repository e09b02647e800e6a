/** A new split: a form, what it can find before it starts, and the start. */

import { useRef, useState } from "preact/hooks";
import { Failure } from "../../components/states";
import { Table } from "../../components/table";
import { figure } from "../../formats";
import { useAction, useLoaded } from "../../loading";
import type { Reply } from "../../reply";
import { linkTo } from "../../route";
import type { PartProps } from ".";

type Plan = Reply<"SplitPlan">;
type Split = Reply<"ExperimentState">;

/** Candidates of one split, as the API takes them. */
const MOST_CANDIDATES = 4;

interface Candidate {
  /** Tells the rows of the form apart. */
  key: number;
  pipeline: string;
  weight: string;
}
const BLANK = { name: "", live: "default", liveWeight: "90", candidates: [{ key: 0, pipeline: "", weight: "10" }] as readonly Candidate[], sticky: "user", slower: "1.5" };
type Form = typeof BLANK;
type Field = "name" | "live" | "liveWeight" | "sticky" | "slower";

export function StartPage({ api, common, go, language, texts }: PartProps) {
  const [form, setForm] = useState<Form>(BLANK);
  const [plan, setPlan] = useState<{ of: Form; told: Plan } | null>(null);
  const [wrong, setWrong] = useState<{ of: Form; told: string[] } | null>(null);
  const checking = useAction();
  const starting = useAction();
  const adding = useRef<HTMLButtonElement>(null);
  const stored = useLoaded((signal) => api.get<{ name: string }[]>("/api/v1/pipelines", {}, signal), [api]).value;
  const names = stored?.map((one) => one.name) ?? [];
  const change = (next: Form): void => {
    starting.clear();
    setForm(next);
  };
  const set = (name: Field) => (event: Event) => change({ ...form, [name]: (event.currentTarget as HTMLInputElement).value });
  const setCandidate = (key: number, name: "pipeline" | "weight") => (event: Event) => {
    const value = (event.currentTarget as HTMLInputElement).value;
    change({ ...form, candidates: form.candidates.map((one) => (one.key === key ? { ...one, [name]: value } : one)) });
  };
  const add = (): void => {
    const key = 1 + Math.max(...form.candidates.map((one) => one.key));
    change({ ...form, candidates: [...form.candidates, { key, pipeline: "", weight: form.candidates.at(-1)!.weight }] });
  };
  const remove = (key: number): void => {
    change({ ...form, candidates: form.candidates.filter((one) => one.key !== key) });
    adding.current?.focus();
  };
  const check = (event: Event): void => {
    event.preventDefault();
    setPlan(null);
    checking.clear();
    const told = mistakes(form, names, texts);
    setWrong(told.length ? { of: form, told } : null);
    if (told.length) return;
    void checking.run(async () => {
      const told = await api.send<Plan>("POST", "/api/v1/experiments/plan", bodyOf(form));
      setPlan({ of: form, told });
    });
  };
  const start = (): void =>
    void starting.run(async () => {
      const split = await api.send<Split>("POST", "/api/v1/experiments", bodyOf(form));
      go(linkTo("experiments", ["split", split.name]));
    });
  const number = (name: "liveWeight" | "slower", title: string, least: string) => (
    <label>
      {title}
      <input type="number" required min={least} step="any" value={form[name]} onInput={set(name)} />
    </label>
  );
  return (
    <div class="stack">
      <h2>{texts.newTitle}</h2>
      <form class="stack" onSubmit={check}>
        <div class="filters">
          <label>
            {texts.newName}
            <input required pattern="[a-z0-9][a-z0-9_\-]*" maxLength={60} value={form.name} aria-describedby="name-hint" onInput={set("name")} />
          </label>
          <p id="name-hint" class="muted">
            {texts.newNameHint}
          </p>
        </div>
        <fieldset class="stack arms">
          <legend>{texts.arms}</legend>
          <div class="filters">
            <label>
              {texts.livePipeline}
              <input list="pipelines-known" required maxLength={120} value={form.live} onInput={set("live")} />
            </label>
            {number("liveWeight", texts.liveWeight, "0.001")}
          </div>
          {form.candidates.map((one, at) => (
            <div key={one.key} class="filters" role="group" aria-label={texts.candidateNumber(at + 1)}>
              <label>
                {texts.candidateNumber(at + 1)}
                <input
                  list="pipelines-known"
                  required
                  maxLength={120}
                  value={one.pipeline}
                  ref={one.key ? focusOnce : undefined}
                  onInput={setCandidate(one.key, "pipeline")}
                />
              </label>
              <label>
                {texts.weightNumber(at + 1)}
                <input type="number" required min="0.001" step="any" value={one.weight} onInput={setCandidate(one.key, "weight")} />
              </label>
              {form.candidates.length > 1 && (
                <button type="button" onClick={() => remove(one.key)}>
                  {texts.removeNumber(at + 1)}
                </button>
              )}
            </div>
          ))}
          <div class="row">
            <button type="button" ref={adding} aria-disabled={form.candidates.length >= MOST_CANDIDATES} onClick={() => form.candidates.length < MOST_CANDIDATES && add()}>
              {texts.addCandidate}
            </button>
          </div>
          <p role="status" class="muted">
            {sharesText(form, language, texts)} {form.candidates.length >= MOST_CANDIDATES && texts.mostCandidates(MOST_CANDIDATES)}
          </p>
        </fieldset>
        <div class="filters">
          <label>
            {texts.sticky}
            <select value={form.sticky} onChange={set("sticky")}>
              {Object.entries(texts.stickies).map(([name, words]) => (
                <option key={name} value={name}>
                  {words}
                </option>
              ))}
            </select>
          </label>
          {number("slower", texts.slower, "0")}
          <button type="submit" class="primary" disabled={checking.busy}>
            {texts.check}
          </button>
        </div>
        <datalist id="pipelines-known">
          {names.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      </form>
      {wrong && wrong.of === form && (
        <div class="notice" role="alert">
          <ul>
            {wrong.told.map((one) => (
              <li key={one}>{one}</li>
            ))}
          </ul>
        </div>
      )}
      {Boolean(checking.error) && <Failure error={checking.error} common={common} />}
      {plan && (
        <section class="panel stack" aria-label={texts.checked}>
          <h3>{texts.checked}</h3>
          <Table
            caption={texts.arms}
            quiet
            columns={[
              { title: texts.arm, cell: (arm) => `${arm.name} (${arm.pipeline.name}@${arm.pipeline.revision})` },
              { title: texts.share, number: true, cell: (arm) => `${figure(arm.share * 100, language, 1)} %` },
            ]}
            rows={plan.told.arms}
            keyOf={(arm) => arm.name}
          />
          <p role="status">{plan.told.detectable.length ? texts.canFind(`${figure(plan.told.usual * 100, language)} %`) : texts.cannotFind}</p>
          {plan.told.detectable.length > 0 && (
            <Table
              caption={texts.checked}
              quiet
              columns={[
                { title: texts.after, number: true, cell: (one) => figure(one.questions, language) },
                { title: plan.told.arms.length > 2 ? texts.ofSmallest : texts.ofCandidate, number: true, cell: (one) => figure(one.candidate, language) },
                { title: texts.failing, number: true, cell: (one) => `${figure(one.found * 100, language, 0)} %` },
              ]}
              rows={plan.told.detectable}
              keyOf={(one) => one.questions}
            />
          )}
          {plan.of !== form && <p class="notice">{texts.changedSince}</p>}
          {Boolean(starting.error) && <Failure error={starting.error} common={common} />}
          <div class="row">
            <button type="button" class="primary" disabled={plan.of !== form || starting.busy} onClick={start}>
              {texts.start}
            </button>
          </div>
        </section>
      )}
    </div>
  );
}

/** The arms of the form, the live pipeline first. */
function armsOf(form: Form): { pipeline: string; weight: number }[] {
  const all = [{ pipeline: form.live, weight: form.liveWeight }, ...form.candidates];
  return all.map((one) => ({ pipeline: one.pipeline.trim(), weight: Number(one.weight) }));
}

function bodyOf(form: Form): object {
  return {
    name: form.name,
    pipeline: form.live.trim(),
    weights: Object.fromEntries(armsOf(form).map((one) => [one.pipeline, one.weight])),
    sticky: form.sticky,
    slower: Number(form.slower),
  };
}

/** What cannot be split so: two arms of one label, or a name that no pipeline has (`known` is empty until it is read). */
function mistakes(form: Form, known: readonly string[], texts: PartProps["texts"]): string[] {
  const labels = armsOf(form).map((one) => one.pipeline);
  const twice = labels.filter((one, at) => labels.indexOf(one) < at);
  const unknown = known.length ? labels.filter((one) => !known.includes(one.split("@")[0] ?? "")) : [];
  return [...new Set([...twice.map(texts.armTwice), ...unknown.map(texts.armUnknown)])];
}

/** The sum of the weights, and the share that each arm gets of it. */
function sharesText(form: Form, language: PartProps["language"], texts: PartProps["texts"]): string {
  const arms = armsOf(form);
  const sum = arms.reduce((total, one) => total + one.weight, 0);
  if (!arms.every((one) => one.weight > 0) || !Number.isFinite(sum)) return texts.weightsWrong;
  const shares = arms.map((one, at) => `${one.pipeline || texts.candidateNumber(at)} ${figure((one.weight / sum) * 100, language, 1)} %`);
  return texts.sharesOf(figure(sum, language, 3), shares.join(", "));
}

const focused = new WeakSet<HTMLInputElement>();

/** A row that was added is where one goes on typing. */
function focusOnce(input: HTMLInputElement | null): void {
  if (!input || focused.has(input)) return;
  focused.add(input);
  input.focus();
}
