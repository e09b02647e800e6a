/** The steps of a question as a table, one column of which draws them over its time. */

import { Table } from "../../components/table";
import { duration } from "../../formats";
import type { PartProps } from "./question";
import type { TimelineStep } from "./types";

/** Units of the drawing's width. */
const WIDTH = 1000;
const HEIGHT = 12;
/** What is too short to be seen is drawn this wide. */
const LEAST = 3;

export function Steps({ found, texts }: PartProps) {
  const { steps } = found;
  if (!steps.length) return null;
  const begin = Math.min(0, ...steps.map((step) => step.began_ms));
  const last = Math.max(...steps.map((step) => step.began_ms + step.waited_ms + step.worked_ms));
  const span = Math.max(1, last - begin);
  const note = (step: TimelineStep): string =>
    step.running ? texts.stillRunning : step.recorded ? texts.recordedStep : step.out_of_band ? texts.afterEnding : "";
  return (
    <section class="stack steps" aria-labelledby="steps">
      <h3 id="steps">{texts.timeline}</h3>
      <Table
        quiet
        caption={texts.timeline}
        rows={steps.map((step, number) => ({ ...step, number }))}
        keyOf={(step) => step.number}
        columns={[
          {
            title: texts.step,
            cell: (step) => (
              <>
                {step.stage}
                {step.attempt > 0 && <span class="muted"> · {texts.attempt(step.attempt + 1)}</span>}
                {note(step) && <span class="muted"> · {note(step)}</span>}
                {step.deliveries > 1 && (
                  <>
                    {" "}
                    <span class="badge bad">{texts.redelivered(step.deliveries)}</span>
                  </>
                )}
              </>
            ),
          },
          { title: texts.consumed, cell: (step) => step.consumed },
          { title: texts.published, cell: (step) => step.published },
          { title: texts.waited, number: true, cell: (step) => (step.running ? "" : duration(step.waited_ms / 1000)) },
          { title: texts.worked, number: true, cell: (step) => (step.running ? "" : duration(step.worked_ms / 1000)) },
          { title: texts.share, cell: (step) => <Bar step={step} begin={begin} span={span} /> },
          { title: texts.worker, cell: (step) => <span class="muted">{step.worker}</span> },
        ]}
      />
      <p class="muted">{texts.timelineHint}</p>
    </section>
  );
}

function Bar({ step, begin, span }: { step: TimelineStep; begin: number; span: number }) {
  const at = (milliseconds: number): number => Math.min(WIDTH - LEAST, ((milliseconds - begin) / span) * WIDTH);
  const wide = (milliseconds: number): number => (milliseconds > 0 ? Math.max(LEAST, (milliseconds / span) * WIDTH) : 0);
  return (
    <svg class="bar-of-step" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true" focusable="false">
      {step.running ? (
        <rect class="unfinished" x={at(step.began_ms)} y={0} height={HEIGHT} width={Math.max(20 * LEAST, WIDTH - at(step.began_ms))} />
      ) : (
        <>
          <rect class="waited" x={at(step.began_ms)} y={0} height={HEIGHT} width={wide(step.waited_ms)} />
          <rect class="worked" x={at(step.began_ms + step.waited_ms)} y={0} height={HEIGHT} width={wide(step.worked_ms)} />
        </>
      )}
    </svg>
  );
}
