/** The splits and the shadow runs, the newest first, and the reviews with what the caller has judged of them. */

import { Empty, Failure, Loading } from "../../components/states";
import { Table, type Column } from "../../components/table";
import { figure, moment } from "../../formats";
import { useLoaded } from "../../loading";
import type { Reply } from "../../reply";
import { linkTo } from "../../route";
import type { PartProps } from ".";
import { interval } from "./words";

type Split = Reply<"ExperimentState">;
type Kept = Reply<"QualityReport">;
type Review = Reply<"ReviewState">;

export function Overview(props: PartProps) {
  return (
    <>
      {props.caller.role === "operator" && <Splits {...props} />}
      {props.caller.role === "operator" && <Shadows {...props} />}
      <Reviews {...props} />
    </>
  );
}

function Splits({ api, common, language, texts }: PartProps) {
  const loaded = useLoaded((signal) => api.get<{ experiments: Split[] }>("/api/v1/experiments", {}, signal), [api]);
  const rows = loaded.value?.experiments;
  const columns: Column<Split>[] = [
    { title: texts.name, cell: (one) => <a href={linkTo("experiments", ["split", one.name])}>{one.name}</a> },
    { title: texts.pipeline, cell: (one) => one.pipeline },
    { title: texts.status, cell: (one) => <span class={`badge ${one.status === "halted" ? "bad" : "good"}`}>{texts.statuses[one.status] ?? one.status}</span> },
    { title: texts.arms, cell: (one) => one.arms.map((arm) => `${arm.name} ${figure(arm.share * 100, language, 1)} %`).join(", ") },
    { title: texts.started, cell: (one) => moment(one.started_at, language) },
    { title: texts.reason, cell: (one) => one.reason },
  ];
  return (
    <section class="stack" aria-label={texts.splits}>
      {Boolean(loaded.error) && <Failure error={loaded.error} common={common} retry={loaded.reload} />}
      {!rows && !loaded.error && <Loading common={common} />}
      {rows?.length === 0 && (
        <Empty title={texts.noSplits}>
          <p>{texts.noSplitsText}</p>
        </Empty>
      )}
      {rows && rows.length > 0 && <Table caption={texts.splits} columns={columns} rows={rows} keyOf={(one) => one.name} />}
      {rows && (
        <p>
          <a href={linkTo("experiments", ["new"])}>
            {texts.startOne}
          </a>
        </p>
      )}
    </section>
  );
}

function Shadows({ api, common, language, texts }: PartProps) {
  const loaded = useLoaded((signal) => api.get<{ reports: Kept[] }>("/api/v1/evaluations", { kind: "shadow" }, signal), [api]);
  const rows = loaded.value?.reports;
  const number = (title: string, read: (figures: Kept["figures"]) => string | undefined): Column<Kept> => ({ title, number: true, cell: (one) => read(one.figures) ?? "–" });
  const columns: Column<Kept>[] = [
    { title: texts.name, cell: (one) => <a href={linkTo("experiments", ["shadow", one.id])}>{one.name || one.id}</a> },
    number(texts.pairs, (of) => figure(of["pairs"], language, 0)),
    number(texts.answeredDifference, (of) => figure(of["measures.answered.difference"], language, 3)),
    number(texts.interval, (of) => interval(of["measures.answered.low"], of["measures.answered.high"], language, 3)),
    number(texts.judgePrefers, (of) => figure(of["judge.preference"], language)),
    number(texts.expertsPrefer, (of) => figure(of["experts.together.preference"], language)),
    { title: texts.kept_at, cell: (one) => moment(one.at, language) },
  ];
  return (
    <section class="stack" aria-label={texts.shadows}>
      {Boolean(loaded.error) && <Failure error={loaded.error} common={common} retry={loaded.reload} />}
      {!rows && !loaded.error && <Loading common={common} />}
      {rows?.length === 0 && (
        <Empty title={texts.noShadows}>
          <p>{texts.noShadowsText}</p>
          <p>
            <code>answerbus experiments start NAME --candidate PIPELINE</code>
          </p>
        </Empty>
      )}
      {rows && rows.length > 0 && <Table caption={texts.shadows} columns={columns} rows={rows} keyOf={(one) => one.id} />}
    </section>
  );
}

function Reviews({ api, caller, common, language, texts }: PartProps) {
  const loaded = useLoaded((signal) => api.get<{ reviews: Review[] }>("/api/v1/reviews", {}, signal), [api]);
  const rows = loaded.value?.reviews;
  const nameOf = (one: Review): string => one.title || texts.untitled(moment(one.at, language));
  const columns: Column<Review>[] = [
    { title: texts.review, cell: (one) => nameOf(one) },
    { title: texts.progress, number: true, cell: (one) => texts.progressOf(one.done, one.total) },
    { title: texts.judge, cell: (one) => <Link part="review" one={one} words={texts.judge} label={`${texts.judge}: ${nameOf(one)}`} /> },
    ...(caller.role === "operator" ? [{ title: texts.result, cell: (one: Review) => <Link part="result" one={one} words={texts.result} label={`${texts.result}: ${nameOf(one)}`} /> }] : []),
  ];
  return (
    <section class="stack" aria-label={texts.reviews}>
      {Boolean(loaded.error) && <Failure error={loaded.error} common={common} retry={loaded.reload} />}
      {!rows && !loaded.error && <Loading common={common} />}
      {rows?.length === 0 && (
        <Empty title={texts.noReviews}>
          <p>{texts.noReviewsText}</p>
        </Empty>
      )}
      {rows && rows.length > 0 && (
        <>
          <Table caption={texts.reviews} columns={columns} rows={rows} keyOf={(one) => one.id} />
          <p class="muted">{texts.reviewsText}</p>
        </>
      )}
    </section>
  );
}

function Link({ part, one, words, label }: { part: string; one: Review; words: string; label: string }) {
  return (
    <a href={linkTo("experiments", [part, one.id])} aria-label={label}>
      {words}
    </a>
  );
}
