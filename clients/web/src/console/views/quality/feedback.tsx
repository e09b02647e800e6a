/** Ratings with their reasons and comments, and the questions that they are about. */

import { useEffect, useState } from "preact/hooks";
import { Icon } from "../../../components/icons";
import { Empty, Failure, Loading } from "../../components/states";
import { Table, type Column } from "../../components/table";
import { moment } from "../../formats";
import { useAction, useLoaded } from "../../loading";
import { linkTo } from "../../route";
import type { ViewProps } from "../registry";
import { PipelineChoice, usePipelines } from "./filters";
import type { QualityTexts } from "./texts";

interface Rated {
  id: string;
  rating: number;
  reason: string;
  comment: string;
  by: string;
  at: string;
  question_id: string;
  question: string;
  pipeline: string;
  pipeline_revision: number;
}

interface Page {
  feedback: Rated[];
  after: string;
}

interface Props extends ViewProps {
  texts: QualityTexts;
}

export function Feedback({ api, common, language, texts }: Props) {
  const [rating, setRating] = useState("");
  const [commented, setCommented] = useState(false);
  const [pipeline, setPipeline] = useState("");
  const [further, setFurther] = useState<Page>({ feedback: [], after: "" });
  const names = usePipelines(api);
  const more = useAction();
  const query = { rating, commented, pipeline };
  const loaded = useLoaded((signal) => api.get<Page>("/api/v1/feedback", query, signal), [api, rating, commented, pipeline]);
  useEffect(() => setFurther({ feedback: [], after: loaded.value?.after ?? "" }), [loaded.value]);

  const show = (): void =>
    void more.run(async () => {
      const page = await api.get<Page>("/api/v1/feedback", { ...query, after: further.after });
      setFurther((before) => ({ feedback: [...before.feedback, ...page.feedback], after: page.after }));
    });
  const rows = [...(loaded.value?.feedback ?? []), ...further.feedback];
  return (
    <>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <label>
          {texts.rating}
          <select value={rating} onChange={(event) => setRating(event.currentTarget.value)}>
            <option value="">{texts.all}</option>
            <option value="up">{texts.up}</option>
            <option value="down">{texts.down}</option>
          </select>
        </label>
        <PipelineChoice texts={texts} names={names} value={pipeline} choose={setPipeline} />
        <label class="check">
          <input type="checkbox" checked={commented} onChange={(event) => setCommented(event.currentTarget.checked)} />
          {texts.commented}
        </label>
      </form>
      {Boolean(loaded.error) && <Failure error={loaded.error} common={common} retry={loaded.reload} />}
      {!loaded.value && !loaded.error && <Loading common={common} />}
      {loaded.value && !rows.length && (
        <Empty title={texts.noFeedbackTitle}>
          <p>{texts.noFeedbackText}</p>
        </Empty>
      )}
      {rows.length > 0 && <Table caption={texts.ratingsShown} quiet columns={columnsOf(texts, language)} rows={rows} keyOf={(row) => row.id} />}
      {Boolean(more.error) && <Failure error={more.error} common={common} />}
      {further.after && (
        <div class="row">
          <button type="button" disabled={more.busy} onClick={show}>
            {texts.more}
          </button>
        </div>
      )}
    </>
  );
}

function columnsOf(texts: QualityTexts, language: ViewProps["language"]): Column<Rated>[] {
  return [
    {
      title: texts.rating,
      cell: (row) => (
        <span class={`badge ${row.rating > 0 ? "good" : "bad"}`}>
          <Icon name={row.rating > 0 ? "up" : "down"} /> {row.rating > 0 ? texts.up : texts.down}
        </span>
      ),
    },
    { title: texts.question, cell: (row) => <a href={linkTo("questions", [row.question_id])}>{row.question || row.question_id}</a> },
    { title: texts.reason, cell: (row) => texts.reasons[row.reason] ?? row.reason },
    { title: texts.comment, cell: (row) => <p class="comment">{row.comment}</p> },
    { title: texts.pipeline, cell: (row) => `${row.pipeline}@${row.pipeline_revision}` },
    { title: texts.by, cell: (row) => row.by },
    { title: texts.at, cell: (row) => moment(row.at, language) },
  ];
}
