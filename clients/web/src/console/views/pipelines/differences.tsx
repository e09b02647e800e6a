/** Two revisions of a pipeline: as texts side by side, and setting by setting. */

import { Failure, Loading } from "../../components/states";
import { Table } from "../../components/table";
import { useLoaded } from "../../loading";
import { linkTo } from "../../route";
import type { Reply } from "../../reply";
import type { ViewProps } from "../registry";
import { written } from "./document";
import { SideBySide } from "./editor";
import type { Stored } from "./pipeline";
import type { PipelineTexts } from "./texts";

type Changes = Reply<"PipelineChanges">;

interface Props extends ViewProps {
  name: string;
  texts: PipelineTexts;
}

export function Differences({ api, common, name, query, texts }: Props) {
  const address = `/api/v1/pipelines/${encodeURIComponent(name)}`;
  const [before, after] = [Number(query.get("before") ?? 0), Number(query.get("after") ?? 0)];
  const loaded = useLoaded(
    async (signal) => {
      const stored = (revision: number): Promise<Stored> => api.get<Stored>(address, { revision }, signal);
      const [found, first, second] = await Promise.all([api.get<Changes>(`${address}/changes`, { before, after }, signal), stored(before), stored(after)]);
      return { found, first: written(first.document), second: written(second.document) };
    },
    [api, name, before, after],
  );
  if (loaded.error) return <Failure error={loaded.error} common={common} retry={loaded.reload} />;
  if (!loaded.value) return <Loading common={common} />;
  const { found, first, second } = loaded.value;
  return (
    <>
      <h3>{texts.differences(found.before, found.after)}</h3>
      <p>
        <a href={linkTo("pipelines", [name])}>{texts.back}</a>
      </p>
      {!found.changes.length && <p>{texts.same}</p>}
      {found.changes.length > 0 && (
        <>
          <Table
            caption={texts.differences(found.before, found.after)}
            quiet
            rows={found.changes}
            keyOf={(row) => row.at}
            columns={[
              { title: texts.setting, cell: (row) => <code>{row.at}</code> },
              { title: texts.before(found.before), cell: (row) => <Value value={row.before} /> },
              { title: texts.before(found.after), cell: (row) => <Value value={row.after} /> },
            ]}
          />
          <SideBySide before={first} after={second} labels={[texts.before(found.before), texts.before(found.after)]} />
        </>
      )}
    </>
  );
}

function Value({ value }: { value: unknown }) {
  if (value === null || value === undefined) return <>–</>;
  return typeof value === "string" ? <pre tabIndex={0}>{value}</pre> : <code>{JSON.stringify(value)}</code>;
}
