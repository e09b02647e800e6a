/** Whether this platform lets the console start replays. */

import type { Api } from "../../api";
import { useLoaded } from "../../loading";

interface OperationsState {
  actions: Record<string, { allowed: boolean; reason: string } | undefined>;
}

/** `reason` says why not, and what to set; empty where it does, and until that is known. */
export function useReplaying(api: Api): { reason: string } {
  const loaded = useLoaded((signal) => api.get<OperationsState>("/api/v1/operations", {}, signal), [api]);
  const replay = loaded.value?.actions["replay"];
  return { reason: replay && !replay.allowed ? replay.reason : "" };
}
