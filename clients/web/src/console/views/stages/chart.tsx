/** The flow chart: a box for each stage in the order of the flow, and the facts between them as declared. */

import { linkTo } from "../../route";
import type { Language } from "../../../texts";
import { duration, figure } from "../../formats";
import { ENDLESS, totalOf, type Flow, type Report, type Total } from "./figures";
import type { StageTexts } from "./texts";

const LEFT = 34;
const BOX = { width: 226, height: 84 };
const GAP = 46;
const RIGHT = 250;
const ARC = 22;

interface Props {
  flow: Flow;
  reports: readonly Report[];
  chosen: string;
  language: Language;
  texts: StageTexts;
}

interface Edge {
  from: number;
  to: number;
  facts: string[];
}

export function Chart({ flow, reports, chosen, language, texts }: Props) {
  const edges = stepEdges(flow);
  const next = edges.filter((edge) => edge.to === edge.from + 1);
  const others = edges.filter((edge) => edge.to !== edge.from + 1);
  const width = LEFT + BOX.width + RIGHT;
  const height = flow.stages.length * (BOX.height + GAP) - GAP + 8;
  return (
    <svg class="flow-chart" width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="group" aria-label={texts.chart}>
      <defs>
        <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">
          <path class="flow-head" d="M0 0 8 4 0 8z" />
        </marker>
      </defs>
      <Endings flow={flow} texts={texts} />
      {next.map((edge) => (
        <g key={`${edge.from}-${edge.to}`}>
          <path class="flow-edge" d={`M${LEFT + 40} ${top(edge.from) + BOX.height}V${top(edge.to) - 1}`} marker-end="url(#arrow)" />
          <Lines x={LEFT + 52} y={top(edge.to) - GAP / 2 + 4} lines={edge.facts} />
        </g>
      ))}
      {others.map((edge, at) => (
        <path key={`${edge.from}-${edge.to}`} class="flow-edge" d={arcOf(edge, at).line} marker-end="url(#arrow)" />
      ))}
      {others.map((edge, at) => (
        <Lines key={`${edge.from}-${edge.to}`} x={arcOf(edge, at).out + 6} y={arcOf(edge, at).middle} lines={edge.facts} />
      ))}
      {flow.stages.map((stage, at) => (
        <Box key={stage} stage={stage} y={top(at)} total={totalOf(reports, stage)} chosen={stage === chosen} language={language} texts={texts} />
      ))}
    </svg>
  );
}

function Box({ stage, y, total, chosen, language, texts }: { stage: string; y: number; total: Total; chosen: boolean; language: Language; texts: StageTexts }) {
  const lines = linesOf(total, language, texts);
  const state = total.notReady ? "bad" : total.paused ? "paused" : total.inFlight ? "busy" : "";
  return (
    <a href={linkTo("stages", [stage])} aria-current={chosen ? "true" : undefined} aria-label={`${stage}: ${lines.join(", ")}`}>
      <rect class={`flow-box ${state}`} x={LEFT} y={y} width={BOX.width} height={BOX.height} rx="8" />
      <text class="flow-name" x={LEFT + 12} y={y + 23}>
        {stage}
      </text>
      {lines.map((line, at) => (
        <text key={at} class={at === 0 && state && state !== "busy" ? `flow-line ${state}` : "flow-line"} x={LEFT + 12} y={y + 43 + 16 * at}>
          {line}
        </text>
      ))}
    </a>
  );
}

function linesOf(total: Total, language: Language, texts: StageTexts): string[] {
  if (!total.consumers) return [texts.publishesOnly];
  const load = [texts.waiting(figure(total.pending, language)), texts.working(figure(total.inFlight, language))];
  if (total.oldest >= 1) load.push(texts.oldest(duration(total.oldest)));
  const state = total.notReady ? texts.notReady : total.paused ? pauseWords(total.pausedSeconds, texts) : texts.workers(total.workers);
  const speed = total.p95 === null ? [] : [texts.slow(duration((total.p50 ?? 0) / 1000), duration(total.p95 / 1000))];
  return [state, load.join(" · "), ...speed];
}

export function pauseWords(seconds: number, texts: StageTexts): string {
  return seconds > ENDLESS ? `${texts.paused} ${texts.untilResumed}` : texts.pausedFor(duration(seconds));
}

/** A line at the left that collects what ends questions, into the stages that consume it. */
function Endings({ flow, texts }: { flow: Flow; texts: StageTexts }) {
  const endings = flow.facts.filter((one) => one.kind === "ending");
  const at = (names: string[]): number[] => [...new Set(names)].map((name) => flow.stages.indexOf(name)).filter((one) => one >= 0);
  const targets = at(endings.flatMap((one) => one.consumed_by));
  const sources = at(endings.flatMap((one) => one.published_by)).filter((one) => !targets.includes(one));
  if (!targets.length || !sources.length) return null;
  const x = 12;
  const ends = [...sources, ...targets].map((one) => top(one) + BOX.height / 2);
  return (
    <g class="flow-endings">
      <title>{`${texts.endings}: ${endings.map((one) => one.fact).join(", ")}`}</title>
      <path class="flow-edge" d={`M${x} ${Math.min(...ends)}V${Math.max(...ends)}`} />
      {sources.map((one) => (
        <path key={one} class="flow-edge" d={`M${LEFT} ${top(one) + BOX.height / 2}H${x}`} />
      ))}
      {targets.map((one) => (
        <path key={one} class="flow-edge" d={`M${x} ${top(one) + BOX.height / 2}H${LEFT - 1}`} marker-end="url(#arrow)" />
      ))}
    </g>
  );
}

/** The line at the right of the boxes from one stage to another one that is not the next. */
function arcOf(edge: Edge, at: number): { line: string; out: number; middle: number } {
  const x = LEFT + BOX.width;
  const [from, to] = [top(edge.from) + BOX.height / 2 + 12, top(edge.to) + BOX.height / 2 - 12];
  const out = x + ARC * (at + 1);
  return { line: `M${x} ${from}H${out}V${to}H${x + 1}`, out, middle: (from + to) / 2 };
}

function Lines({ x, y, lines }: { x: number; y: number; lines: string[] }) {
  return (
    <text class="flow-fact" aria-hidden="true" x={x} y={y - 7 * (lines.length - 1)}>
      {lines.map((line, at) => (
        <tspan key={line} x={x} dy={at ? 14 : 0}>
          {line}
        </tspan>
      ))}
    </text>
  );
}

function top(at: number): number {
  return 4 + at * (BOX.height + GAP);
}

/** The facts that lead questions on, joined by where they come from and go to. */
function stepEdges(flow: Flow): Edge[] {
  const edges = new Map<string, Edge>();
  for (const { fact, kind, published_by, consumed_by } of flow.facts) {
    if (kind !== "step") continue;
    for (const from of published_by) {
      for (const to of consumed_by) {
        const edge = { from: flow.stages.indexOf(from), to: flow.stages.indexOf(to), facts: [] as string[] };
        if (edge.from < 0 || edge.to < 0 || edge.from === edge.to) continue;
        const key = `${from}>${to}`;
        if (!edges.has(key)) edges.set(key, edge);
        edges.get(key)!.facts.push(fact);
      }
    }
  }
  return [...edges.values()];
}
