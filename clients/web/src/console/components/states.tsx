/** What a view shows while it has nothing else to show. */

import { ConnectionFailedError, ResponseError } from "@answerbus/client";
import type { ComponentChildren } from "preact";
import type { ConsoleTexts } from "../texts";

export function Loading({ common }: { common: ConsoleTexts }) {
  return (
    <p class="state progress" role="status">
      {common.loading}
    </p>
  );
}

/** Why something failed, in words; the server's own where it said why. */
export function Failure({ error, common, retry }: { error: unknown; common: ConsoleTexts; retry?: () => void }) {
  return (
    <div class="failure" role="alert">
      <p>{wordsOf(error, common)}</p>
      {retry && (
        <button type="button" onClick={retry}>
          {common.tryAgain}
        </button>
      )}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <section class="empty">
      <h2>{title}</h2>
      {children}
    </section>
  );
}

export function wordsOf(error: unknown, common: ConsoleTexts): string {
  if (error instanceof ResponseError) {
    if (error.status === 401) return common.errors.key;
    return error.detail || (error.status === 403 ? common.errors.denied : common.errors.other);
  }
  if (error instanceof ConnectionFailedError) return common.errors.connection;
  return `${common.errors.other} ${error instanceof Error ? error.message : String(error)}`;
}
