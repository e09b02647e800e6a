/** The list of questions: pages of the server, and the changes that it sends meanwhile. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { Api, Query } from "../../api";
import type { QuestionLine, QuestionPage } from "./types";

const PAGE = 200;

export interface LiveList {
  lines: readonly QuestionLine[];
  /** Whether the server has more than is loaded. */
  more: boolean;
  busy: boolean;
  error: unknown;
  connected: boolean;
  /** Load the next page; harmless while one is loading. */
  next: () => void;
  reload: () => void;
}

interface State {
  lines: readonly QuestionLine[];
  after: string;
  busy: boolean;
  error: unknown;
  connected: boolean;
}

const START: State = { lines: [], after: "", busy: true, error: null, connected: false };

/**
 * What the filters select, newest first; changes come in bunches, at most one for each frame that is painted.
 *
 * The first page is read once the server collects changes, so that nothing falls between the two.
 */
export function useLiveList(api: Api, filters: Query): LiveList {
  const [state, setState] = useState<State>(START);
  const [round, setRound] = useState(0);
  const loading = useRef(false);
  const inputs = JSON.stringify(filters);

  const load = (after: string, signal?: AbortSignal): void => {
    loading.current = true;
    setState((before) => ({ ...before, busy: true, error: null }));
    api.get<QuestionPage>("/api/v1/questions", { ...filters, limit: PAGE, after }, signal).then(
      (page) => {
        if (signal?.aborted) return;
        loading.current = false;
        // The first page again, after a lost connection, leaves what was loaded further down.
        setState((before) => ({ ...before, lines: merged(before.lines, page.questions, new Set()), after: after || !before.lines.length ? page.after : before.after, busy: false }));
      },
      (error: unknown) => {
        if (signal?.aborted) return;
        loading.current = false;
        setState((before) => ({ ...before, busy: false, error }));
      },
    );
  };
  const abort = useRef<AbortController | null>(null);

  useEffect(() => {
    const here = new AbortController();
    abort.current = here;
    setState(START);
    const waiting = new Map<string, QuestionLine | null>();
    let frame = 0;
    const flush = (): void => {
      frame = 0;
      const changed = [...waiting.values()].filter((line) => line !== null);
      const gone = new Set([...waiting].filter(([, line]) => line === null).map(([id]) => id));
      waiting.clear();
      setState((before) => ({ ...before, lines: merged(before.lines, changed, gone) }));
    };
    let begun = false;
    const begin = (): void => {
      // What runs is told anew; what has ended meanwhile is in the first page.
      if (begun) setState((before) => ({ ...before, lines: before.lines.filter((line) => line.status === "ended") }));
      begun = true;
      load("", here.signal);
    };
    const connection = (connected: boolean): void => {
      setState((before) => ({ ...before, connected }));
      if (!connected && !begun) begin();
    };
    const listen = async (): Promise<void> => {
      for await (const { event, data } of api.follow("/api/v1/questions/changes", filters, here.signal, connection)) {
        if (event === "ready") begin();
        else if (event === "question") waiting.set((data as QuestionLine).id, data as QuestionLine);
        else if (event === "gone") waiting.set((data as { id: string }).id, null);
        if (waiting.size) frame ||= requestAnimationFrame(flush);
      }
    };
    listen().catch((error: unknown) => !here.signal.aborted && setState((before) => ({ ...before, error, busy: false, connected: false })));
    return () => {
      here.abort();
      cancelAnimationFrame(frame);
    };
  }, [inputs, round]);

  return {
    lines: state.lines,
    more: state.after !== "",
    busy: state.busy,
    error: state.error,
    connected: state.connected,
    next: () => state.after && !state.error && !loading.current && load(state.after, abort.current?.signal),
    reload: () => setRound((before) => before + 1),
  };
}

/** The lines with those that are new or have changed, without those that are gone; in order of time, newest first. */
export function merged(known: readonly QuestionLine[], changed: readonly QuestionLine[], gone: ReadonlySet<string>): readonly QuestionLine[] {
  if (!changed.length && !gone.size) return known;
  const byId = new Map(changed.map((line) => [line.id, line]));
  const kept: QuestionLine[] = [];
  for (const line of known) {
    if (gone.has(line.id)) continue;
    const newer = byId.get(line.id);
    byId.delete(line.id);
    kept.push(newer ? newest(line, newer) : line);
  }
  if (!byId.size) return kept;
  return [...kept, ...byId.values()].sort((one, other) => (one.asked_at === other.asked_at ? (one.id < other.id ? 1 : -1) : one.asked_at < other.asked_at ? 1 : -1));
}

/** A page that was read before the change does not undo it. */
function newest(known: QuestionLine, other: QuestionLine): QuestionLine {
  return known.status === "ended" && other.status === "running" ? known : other;
}
