/** Whether this platform lets the console start replays. */

import type { Api } from "../../api";

/** `reason` says why not, and what to set; empty where it does. */
export function useReplaying(_api: Api): { reason: string } {
  return { reason: "" };
}
