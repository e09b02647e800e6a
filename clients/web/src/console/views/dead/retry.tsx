/** How an event is published again: its lane, the revision of its pipeline, its deadline. */

import type { DeadTexts } from "./texts";

export interface RetryChoice {
  lane: string;
  newest: boolean;
  deadline: string;
}

export function retryBody(choice: RetryChoice): object {
  return { lane: choice.lane || null, newest: choice.newest, deadline_seconds: Number(choice.deadline) || 0 };
}

export function RetryFields({ choice, set, texts }: { choice: RetryChoice; set: (choice: RetryChoice) => void; texts: DeadTexts }) {
  return (
    <div class="stack">
      <div class="filters">
        <label>
          {texts.lane}
          <select value={choice.lane} onChange={(event) => set({ ...choice, lane: event.currentTarget.value })}>
            <option value="">{texts.sameLane}</option>
            <option value="live">{texts.lanes.live}</option>
            <option value="background">{texts.lanes.background}</option>
          </select>
        </label>
        <label>
          {texts.deadline}
          <input type="number" min="0" max="86400" value={choice.deadline} onInput={(event) => set({ ...choice, deadline: event.currentTarget.value })} />
        </label>
      </div>
      <label class="row">
        <input type="checkbox" checked={choice.newest} onChange={(event) => set({ ...choice, newest: event.currentTarget.checked })} />
        {texts.newest}
      </label>
    </div>
  );
}
