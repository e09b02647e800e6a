/** A new split: a form, what it can find before it starts, and the start. */

import { useState } from "preact/hooks";
import { Failure } from "../../components/states";
import { Table } from "../../components/table";
import { figure } from "../../formats";
import { useAction, useLoaded } from "../../loading";
import type { Reply } from "../../reply";
import { linkTo } from "../../route";
import type { PartProps } from ".";

type Plan = Reply<"SplitPlan">;
type Split = Reply<"ExperimentState">;

const BLANK = { name: "", live: "default", candidate: "", liveWeight: "90", candidateWeight: "10", sticky: "user", slower: "1.5" };
type Form = typeof BLANK;

export function StartPage({ api, common, go, language, texts }: PartProps) {
  const [form, setForm] = useState<Form>(BLANK);
  const [plan, setPlan] = useState<{ of: Form; told: Plan } | null>(null);
  const checking = useAction();
  const starting = useAction();
  const names = useLoaded((signal) => api.get<{ name: string }[]>("/api/v1/pipelines", {}, signal), [api]).value ?? [];
  const set = (name: keyof Form) => (event: Event) => {
    starting.clear();
    setForm({ ...form, [name]: (event.currentTarget as HTMLInputElement).value });
  };
  const check = (event: Event): void => {
    event.preventDefault();
    setPlan(null);
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
  const pipeline = (name: "live" | "candidate", title: string) => (
    <label>
      {title}
      <input list="pipelines-known" required maxLength={120} value={form[name]} onInput={set(name)} />
    </label>
  );
  const number = (name: "liveWeight" | "candidateWeight" | "slower", title: string, least: string) => (
    <label>
      {title}
      <input type="number" required min={least} step="any" value={form[name]} onInput={set(name)} />
    </label>
  );
  return (
    <div class="stack">
      <h2>{texts.newTitle}</h2>
      <form class="filters" onSubmit={check}>
        <label>
          {texts.newName}
          <input required pattern="[a-z0-9][a-z0-9_\-]*" maxLength={60} value={form.name} aria-describedby="name-hint" onInput={set("name")} />
        </label>
        {pipeline("live", texts.livePipeline)}
        {number("liveWeight", texts.liveWeight, "0.001")}
        {pipeline("candidate", texts.candidatePipeline)}
        {number("candidateWeight", texts.candidateWeight, "0.001")}
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
        <datalist id="pipelines-known">
          {names.map((one) => (
            <option key={one.name} value={one.name} />
          ))}
        </datalist>
        <button type="submit" class="primary" disabled={checking.busy}>
          {texts.check}
        </button>
        <p id="name-hint" class="muted">
          {texts.newNameHint}
        </p>
      </form>
      {Boolean(checking.error) && <Failure error={checking.error} common={common} />}
      {plan && (
        <section class="panel stack" aria-label={texts.checked}>
          <h3>{texts.checked}</h3>
          <p role="status">{plan.told.detectable.length ? texts.canFind(`${figure(plan.told.usual * 100, language)} %`) : texts.cannotFind}</p>
          {plan.told.detectable.length > 0 && (
            <Table
              caption={texts.checked}
              quiet
              columns={[
                { title: texts.after, number: true, cell: (one) => figure(one.questions, language) },
                { title: texts.ofCandidate, number: true, cell: (one) => figure(one.candidate, language) },
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

function bodyOf(form: Form): object {
  return {
    name: form.name,
    pipeline: form.live,
    weights: { [form.live]: Number(form.liveWeight), [form.candidate]: Number(form.candidateWeight) },
    sticky: form.sticky,
    slower: Number(form.slower),
  };
}
