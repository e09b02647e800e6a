/** Reports of evaluations that were kept: a figure of one kind over time, and every report with its figures. */

import { useState } from "preact/hooks";
import { Empty, Failure, Loading } from "../../components/states";
import { Table, type Column } from "../../components/table";
import { figure, moment } from "../../formats";
import { useLoaded } from "../../loading";
import type { Reply } from "../../reply";
import type { ViewProps } from "../registry";
import { Chart } from "./chart";
import type { QualityTexts } from "./texts";

type Report = Reply<"QualityReport">;

/** Figures of a report that stand in its row; the others are behind them. */
const FIRST = 4;
/** Lines of the chart at once. */
const LINES = 4;
/** Seconds from which on the chart names days instead of hours. */
const DAYS = 2 * 86_400;

interface Props extends ViewProps {
  texts: QualityTexts;
}

export function Evaluations({ api, common, language, texts }: Props) {
  const loaded = useLoaded((signal) => api.get<{ reports: Report[] }>("/api/v1/evaluations", {}, signal), [api]);
  const [wanted, setWanted] = useState("");
  const reports = loaded.value?.reports ?? [];
  const kinds = [...new Set(reports.map((one) => one.kind))].sort();
  const kind = kinds.includes(wanted) ? wanted : "";
  const shown = reports.filter((one) => !kind || one.kind === kind);
  return (
    <>
      {Boolean(loaded.error) && <Failure error={loaded.error} common={common} retry={loaded.reload} />}
      {!loaded.value && !loaded.error && <Loading common={common} />}
      {loaded.value && !reports.length && (
        <Empty title={texts.noReportsTitle}>
          <p>{texts.noReportsText}</p>
          <p>
            <code>POST /api/v1/evaluations</code>
          </p>
        </Empty>
      )}
      {kinds.length > 1 && (
        <form class="filters" onSubmit={(event) => event.preventDefault()}>
          <label>
            {texts.kind}
            <select value={kind} onChange={(event) => setWanted(event.currentTarget.value)}>
              <option value="">{texts.all}</option>
              {kinds.map((one) => (
                <option key={one}>{one}</option>
              ))}
            </select>
          </label>
        </form>
      )}
      {kinds
        .filter((one) => !kind || one === kind)
        .map((one) => (
          <OverReports key={one} kind={one} reports={reports.filter((report) => report.kind === one)} texts={texts} language={language} />
        ))}
      {shown.length > 0 && <Table caption={texts.reportsShown} rows={shown} keyOf={(one) => one.id} columns={columnsOf(texts, language)} />}
    </>
  );
}

/** The figures that all reports of a kind have, over time; of these the first ones, or the one that is chosen. */
function OverReports({ kind, reports, texts, language }: { kind: string; reports: Report[]; texts: QualityTexts; language: ViewProps["language"] }) {
  const [chosen, setChosen] = useState("");
  const oldest = [...reports].reverse();
  const names = Object.keys(oldest.at(-1)?.figures ?? {}).filter((name) => oldest.every((one) => one.figures[name] !== undefined));
  if (oldest.length < 2 || !names.length) return null;
  // Shares fit into one drawing; a count beside them would flatten them.
  const shares = names.filter((name) => oldest.every((one) => Math.abs(one.figures[name]!) <= 1));
  const drawn = names.includes(chosen) ? [chosen] : (shares.length ? shares : names.slice(0, 1)).slice(0, LINES);
  const times = oldest.map((one) => new Date(one.at).getTime() / 1000);
  const lines = drawn.map((name) => ({ label: name, values: oldest.map((one) => one.figures[name]!) }));
  return (
    <>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <label>
          {texts.figureOf(kind)}
          <select value={chosen} onChange={(event) => setChosen(event.currentTarget.value)}>
            <option value="">{texts.firstFigures}</option>
            {names.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      </form>
      <Chart
        title={kind}
        times={times}
        lines={lines}
        step={times.at(-1)! - times[0]! > DAYS ? "day" : "hour"}
        language={language}
        texts={texts}
        write={(value) => figure(value, language, 3)}
      />
    </>
  );
}

function columnsOf(texts: QualityTexts, language: ViewProps["language"]): Column<Report>[] {
  return [
    { title: texts.at, cell: (one) => moment(one.at, language) },
    { title: texts.kind, cell: (one) => one.kind },
    { title: texts.evaluated, cell: (one) => one.name },
    { title: texts.keptBy, cell: (one) => one.by },
    { title: texts.figuresOfReport, cell: (one) => <FiguresOf report={one} texts={texts} language={language} /> },
  ];
}

function FiguresOf({ report, texts, language }: { report: Report; texts: QualityTexts; language: ViewProps["language"] }) {
  const pairs = Object.entries(report.figures);
  const list = (some: [string, number][]) => (
    <ul class="figures-of">
      {some.map(([name, value]) => (
        <li key={name}>
          <span class="muted">{name}</span> {figure(value, language, 3)}
        </li>
      ))}
    </ul>
  );
  return (
    <>
      {list(pairs.slice(0, FIRST))}
      {pairs.length > FIRST && (
        <details>
          <summary>{texts.moreFigures(pairs.length - FIRST)}</summary>
          {list(pairs.slice(FIRST))}
        </details>
      )}
    </>
  );
}
