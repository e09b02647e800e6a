/** Files on their way into the index: sent, then read by the platform until they are indexed or refused. */

import { useEffect, useRef, useState } from "preact/hooks";
import { wait } from "../../../../../typescript/src/pauses";
import { ResponseError } from "@answerbus/client";
import type { Api } from "../../api";
import type { Formats, Submission } from "./types";

/** Files that are sent at the same time. */
const AT_ONCE = 3;
/** Milliseconds between two questions for a submission, at first and at most. */
const FIRST_PAUSE = 400;
const LONGEST_PAUSE = 3000;
/** Failed questions in a row after which a file is given up. */
const MOST_FAILURES = 20;

/** How the documents are described; the same for all files that are chosen together. */
export interface Description {
  collection: string;
  groups: readonly string[];
  metadata: readonly string[];
}

export interface Upload {
  number: number;
  name: string;
  size: number;
  state: "waiting" | "sending" | "reading" | "indexed" | "unchanged" | "refused" | "failed";
  /** Of the bytes, from 0 to 1. */
  sent: number;
  source: string;
  submission: Submission | null;
  error: unknown;
}

/** Why a file cannot be sent at all. */
export class UnsuitableFileError extends Error {
  constructor(
    readonly why: "type" | "size" | "empty",
    readonly formats: Formats,
  ) {
    super(why);
  }
}

export function ended(upload: Upload): boolean {
  return !["waiting", "sending", "reading"].includes(upload.state);
}

/** The media type of a file by the ending of its name; empty when there is no reader for it. */
export function mediaType(file: File, formats: Formats): string {
  const ending = file.name.includes(".") ? file.name.slice(file.name.lastIndexOf(".")).toLowerCase() : "";
  const known = formats.formats.find((one) => one.endings.includes(ending));
  return known?.media_type ?? (file.type.startsWith("text/") ? file.type : "");
}

/** Uploads in the order in which they were chosen; `indexed` is called after each that changed the index. */
export function useUploads(api: Api, indexed: () => void): { uploads: Upload[]; add: (files: Iterable<File>, description: Description, formats: Formats) => void; clear: () => void } {
  const [uploads, setUploads] = useState<Upload[]>([]);
  const count = useRef(0);
  const queue = useRef<(() => Promise<void>)[]>([]);
  const running = useRef(0);
  const abort = useRef(new AbortController());
  useEffect(() => () => abort.current.abort(), []);

  const change = (number: number, update: Partial<Upload>): void =>
    setUploads((before) => before.map((one) => (one.number === number ? { ...one, ...update } : one)));

  const send = async (number: number, file: File, type: string, description: Description): Promise<void> => {
    const { signal } = abort.current;
    change(number, { state: "sending" });
    try {
      const query = {
        source: `kb:${file.name}`,
        collection: description.collection,
        group: description.groups,
        metadata: description.metadata,
      };
      const receipt = await api.upload<{ id: string; source: string }>("/api/v1/documents", query, file, type, (sent) => change(number, { sent }), signal);
      change(number, { state: "reading", sent: 1, source: receipt.source });
      const submission = await outcome(api, receipt.id, signal);
      change(number, { state: submission.status === "submitted" ? "reading" : submission.status, submission });
      if (submission.status === "indexed") indexed();
    } catch (error) {
      if (!signal.aborted) change(number, { state: "failed", error });
    }
  };

  const next = (): void => {
    while (running.current < AT_ONCE && queue.current.length) {
      const work = queue.current.shift()!;
      running.current += 1;
      void work().finally(() => ((running.current -= 1), next()));
    }
  };

  const add = (files: Iterable<File>, description: Description, formats: Formats): void => {
    const fresh = [...files].map((file) => {
      const type = mediaType(file, formats);
      const why = !type ? "type" : file.size > formats.max_bytes ? "size" : file.size === 0 ? "empty" : null;
      const number = (count.current += 1);
      if (!why) queue.current.push(() => send(number, file, type, description));
      return {
        number,
        name: file.name,
        size: file.size,
        state: why ? ("failed" as const) : ("waiting" as const),
        sent: 0,
        source: "",
        submission: null,
        error: why ? new UnsuitableFileError(why, formats) : null,
      };
    });
    setUploads((before) => [...fresh, ...before]);
    next();
  };

  return { uploads, add, clear: () => setUploads((before) => before.filter((one) => !ended(one))) };
}

/** What became of a submission; a server that cannot be reached for a while is asked again. */
async function outcome(api: Api, id: string, signal: AbortSignal): Promise<Submission> {
  let failures = 0;
  for (let pause = FIRST_PAUSE; ; pause = Math.min(LONGEST_PAUSE, pause * 1.5)) {
    await wait(pause, signal);
    try {
      const found = await api.get<Submission>(`/api/v1/submissions/${id}`, {}, signal);
      failures = 0;
      if (found.status !== "submitted") return found;
    } catch (error) {
      failures += 1;
      const lasting = error instanceof ResponseError && !error.temporary;
      if (signal.aborted || lasting || failures > MOST_FAILURES) throw error;
    }
  }
}
