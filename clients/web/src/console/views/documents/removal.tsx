/** Asks before a document is removed for good. */

import type { Api } from "../../api";
import { Confirm } from "../../components/dialog";
import { useAction } from "../../loading";
import type { ConsoleTexts } from "../../texts";
import type { DocumentsTexts } from "./texts";

interface Props {
  api: Api;
  source: string;
  texts: DocumentsTexts;
  common: ConsoleTexts;
  close: () => void;
  removed: () => void;
}

export function Removal({ api, source, texts, common, close, removed }: Props) {
  const action = useAction();
  const remove = async (): Promise<void> => {
    const done = await action.run(async () => {
      await api.send("DELETE", `/api/v1/documents?${new URLSearchParams({ source })}`);
    });
    if (done) removed();
  };
  return (
    <Confirm title={texts.removeTitle} action={texts.remove} danger common={common} busy={action.busy} error={action.error} close={close} confirm={() => void remove()}>
      <p>{texts.removeText(source)}</p>
    </Confirm>
  );
}
