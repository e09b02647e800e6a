/** What experts prefer: together, each of them and by segment, how far they agree, and what they wrote. */

import { useState } from "preact/hooks";
import { Confirm } from "../../components/dialog";
import { Empty, Failure, Loading } from "../../components/states";
import { Table } from "../../components/table";
import { figure } from "../../formats";
import { useAction, useLoaded } from "../../loading";
import type { Reply } from "../../reply";
import { linkTo } from "../../route";
import type { PartProps } from ".";
import { preferenceColumns } from "./words";

type Result = Reply<"ReviewResult">;
type Row = Result["together"] & { who: string };

export function ResultPage({ api, common, go, id, language, texts }: PartProps) {
  const address = `/api/v1/reviews/${id}`;
  const loaded = useLoaded((signal) => api.get<Result>(address, {}, signal), [api, id]);
  const [asked, setAsked] = useState(false);
  const removing = useAction();
  if (loaded.error && !loaded.value) return <Failure error={loaded.error} common={common} retry={loaded.reload} />;
  if (!loaded.value) return <Loading common={common} />;
  const found = loaded.value;
  const rows: Row[] = [
    { ...found.together, who: texts.together },
    ...found.experts.map((one) => ({ ...one, who: one.expert })),
    ...found.segments.map((one) => ({ ...one, who: `${texts.kinds[one.segment]}: ${one.value}` })),
  ];
  const remove = (): void =>
    void removing.run(async () => {
      await api.send("DELETE", address);
      go(linkTo("experiments"));
    });
  return (
    <div class="stack">
      <h2>{found.name}</h2>
      <p>
        {texts.candidate}: {found.candidate} · {texts.live}: {found.live} · {texts.progress}: {texts.progressOf(found.together.pairs, found.pairs)}
      </p>
      {found.together.pairs ? (
        <>
          <Table caption={texts.experts} columns={preferenceColumns<Row>(texts, language)} rows={rows} keyOf={(row) => row.who} />
          <p>{found.agreement === null || found.agreement === undefined ? texts.noAgreement : texts.agreement(figure(found.agreement, language), found.shared)}</p>
          <p class="muted">{texts.intervalsOfPairs}</p>
        </>
      ) : (
        <Empty title={texts.nobody}>
          <p>{texts.nobodyText}</p>
        </Empty>
      )}
      {found.comments.length > 0 && (
        <Table
          caption={texts.comments}
          columns={[
            { title: texts.question, cell: (one) => <a href={linkTo("questions", [one.id])}>{one.id}</a> },
            { title: texts.expert, cell: (one) => one.expert },
            { title: texts.choice, cell: (one) => texts.choices[one.choice] },
            { title: texts.comments, cell: (one) => one.comment },
          ]}
          rows={found.comments}
          keyOf={(one) => `${one.id} ${one.expert}`}
        />
      )}
      <div class="row">
        <button type="button" class="danger" onClick={() => (removing.clear(), setAsked(true))}>
          {texts.remove}
        </button>
      </div>
      {asked && (
        <Confirm title={texts.removeTitle} common={common} close={() => setAsked(false)} action={texts.removeAction} danger busy={removing.busy} error={removing.error} confirm={remove}>
          <p>{texts.removeText}</p>
        </Confirm>
      )}
    </div>
  );
}
