/** The period and the pipeline that figures are of. */

import { useLoaded } from "../../loading";
import type { Api } from "../../api";
import type { QualityTexts } from "./texts";

export type PeriodName = keyof QualityTexts["periods"];

const HOURS: Record<PeriodName, number> = { day: 24, week: 7 * 24, month: 30 * 24, quarter: 90 * 24 };

/** The query of a period that ends now: hours for up to a week, days beyond. */
export function periodQuery(period: PeriodName): { from: string; to: string; step: "hour" | "day" } {
  const now = Date.now();
  const from = new Date(now - HOURS[period] * 3_600_000).toISOString();
  return { from, to: new Date(now).toISOString(), step: HOURS[period] > 7 * 24 ? "day" : "hour" };
}

/** The names of the pipelines; none while they are not known. */
export function usePipelines(api: Api): string[] {
  const loaded = useLoaded((signal) => api.get<{ name: string }[]>("/api/v1/pipelines", {}, signal), [api]);
  return loaded.value?.map((one) => one.name) ?? [];
}

interface PeriodProps {
  texts: QualityTexts;
  value: PeriodName;
  choose: (period: PeriodName) => void;
}

export function PeriodChoice({ texts, value, choose }: PeriodProps) {
  return (
    <label>
      {texts.period}
      <select value={value} onChange={(event) => choose(event.currentTarget.value as PeriodName)}>
        {Object.entries(texts.periods).map(([name, label]) => (
          <option key={name} value={name}>
            {label}
          </option>
        ))}
      </select>
    </label>
  );
}

interface PipelineProps {
  texts: QualityTexts;
  names: readonly string[];
  value: string;
  choose: (name: string) => void;
}

export function PipelineChoice({ texts, names, value, choose }: PipelineProps) {
  return (
    <label>
      {texts.pipeline}
      <select value={value} onChange={(event) => choose(event.currentTarget.value)}>
        <option value="">{texts.everyPipeline}</option>
        {names.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
