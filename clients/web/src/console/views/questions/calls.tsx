/** The model calls of a question with their tokens and cost. */

import { Table } from "../../components/table";
import { duration, figure } from "../../formats";
import type { PartProps } from "./question";
import type { ModelCall, Usage } from "./types";

type Row = Pick<ModelCall, "stage" | "step" | "model" | "outcome" | "tries" | "milliseconds" | "usage"> & { key: number; attempt: number | null };

export function Calls({ found, texts, language }: PartProps) {
  const calls = found.model_calls;
  if (!calls.length) return null;
  const rows: Row[] = calls.map((call, key) => ({ ...call, key, step: call.recorded ? `${call.step} (${texts.recordedStep})` : call.step }));
  const total = sum(calls.map((call) => call.usage));
  const milliseconds = calls.reduce((so_far, call) => so_far + call.milliseconds, 0);
  rows.push({ key: -1, stage: texts.total, step: "", model: "", outcome: "", tries: calls.reduce((so_far, call) => so_far + call.tries, 0), milliseconds, usage: total, attempt: null });
  return (
    <section class="stack" aria-labelledby="calls">
      <h3 id="calls">{texts.calls}</h3>
      <Table
        quiet
        caption={texts.calls}
        rows={rows}
        keyOf={(row) => row.key}
        columns={[
          { title: texts.step, cell: (row) => (row.step ? `${row.stage}: ${row.step}` : <b>{row.stage}</b>) },
          { title: texts.attempts, number: true, cell: (row) => (row.attempt === null ? "" : row.attempt + 1) },
          { title: texts.model, cell: (row) => row.model },
          { title: texts.input, number: true, cell: (row) => figure(row.usage.input_tokens, language) },
          { title: texts.cached, number: true, cell: (row) => figure(row.usage.cached_tokens, language) },
          { title: texts.output, number: true, cell: (row) => figure(row.usage.output_tokens, language) },
          { title: texts.cost, number: true, cell: (row) => `$${row.usage.cost_usd.toFixed(4)}` },
          { title: texts.time, number: true, cell: (row) => duration(row.milliseconds / 1000) },
          { title: texts.tries, number: true, cell: (row) => row.tries },
          { title: texts.result, cell: (row) => row.outcome },
        ]}
      />
    </section>
  );
}

function sum(usages: readonly Usage[]): Usage {
  const total: Usage = { input_tokens: 0, output_tokens: 0, cached_tokens: 0, cost_usd: 0 };
  for (const one of usages) for (const name of Object.keys(total) as (keyof Usage)[]) total[name] += one[name];
  return total;
}
