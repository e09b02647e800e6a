/** What this gateway may change for who is signed in, and why not. */

import type { Api } from "./api";
import { useLoaded, type Loaded } from "./loading";
import type { Reply } from "./reply";

export type Operations = Reply<"OperationsState">;
export type ActionState = Reply<"ActionState">;

/** Read again when `round` changes. */
export function useOperations(api: Api, round = 0): Loaded<Operations> {
  return useLoaded((signal) => api.get<Operations>("/api/v1/operations", {}, signal), [api, round]);
}

/** Whether something may be done; not before that is known. */
export function stateOf(operations: Operations | null, action: string): ActionState {
  return operations?.actions[action] ?? { allowed: false, reason: "" };
}

/** Why something may not be done; empty where it may, and until that is known. */
export function useObstacle(api: Api, action: string): string {
  const { value } = useOperations(api);
  return value ? stateOf(value, action).reason : "";
}
