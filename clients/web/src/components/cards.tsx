/** Structured results as cards: experts, free times, a booking, articles and videos. */

import type { Language, Texts } from "../texts";
import { webAddress } from "../markdown";

interface Expert {
  id: string;
  name: string;
  title?: string;
  about?: string;
  topics?: string[];
}
interface Slot {
  id: string;
  starts_at: string;
  ends_at: string;
}
interface Booked extends Slot {
  expert_name?: string;
  session_type?: string;
}
interface Item {
  id: string;
  title: string;
  url?: string;
  summary?: string;
  minutes?: number;
}
export type Payload =
  | { type: "expert_profiles"; experts: Expert[] }
  | { type: "expert_availability"; expert: Expert; slots: Slot[] }
  | { type: "session_booked"; session: Booked }
  | { type: "content_recommendations"; items: Item[] }
  | { type: "text" | "emergency" };

interface Props {
  payload: Payload;
  texts: Texts;
  language: Language;
  /** Asks the next question of the conversation; null while another one runs. */
  ask: ((question: string) => void) | null;
}

export function Cards({ payload, texts, language, ask }: Props) {
  switch (payload.type) {
    case "expert_profiles":
      return (
        <Section title={texts.experts}>
          {payload.experts.map((one) => (
            <li class="card">
              <strong>{one.name}</strong>
              {one.title && <span class="muted">{one.title}</span>}
              {one.about && <p>{one.about}</p>}
              {!!one.topics?.length && <span class="muted">{one.topics.join(" · ")}</span>}
            </li>
          ))}
        </Section>
      );
    case "expert_availability":
      return (
        <Section title={`${texts.slots} ${texts.with} ${payload.expert.name}`}>
          {payload.slots.map((one) => {
            const time = timeOf(one.starts_at, language);
            return (
              <li class="card row">
                <time dateTime={one.starts_at}>{time}</time>
                <button type="button" disabled={!ask} aria-label={texts.choose(time)} onClick={() => ask?.(texts.choose(time))}>
                  {texts.book}
                </button>
              </li>
            );
          })}
        </Section>
      );
    case "session_booked":
      return (
        <Section title={texts.booked}>
          <li class="card confirmed">
            <time dateTime={payload.session.starts_at}>{timeOf(payload.session.starts_at, language)}</time>
            {payload.session.expert_name && (
              <span>
                {texts.with} {payload.session.expert_name}
              </span>
            )}
          </li>
        </Section>
      );
    case "content_recommendations":
      return (
        <Section title={texts.contents}>
          {payload.items.map((one) => (
            <li class="card">
              {webAddress(one.url ?? "") ? (
                <a href={one.url} rel="noopener noreferrer" target="_blank">
                  {one.title}
                </a>
              ) : (
                <strong>{one.title}</strong>
              )}
              {one.summary && <p>{one.summary}</p>}
              {!!one.minutes && (
                <span class="muted">
                  {one.minutes} {texts.minutes}
                </span>
              )}
            </li>
          ))}
        </Section>
      );
    default:
      return null;
  }
}

function Section({ title, children }: { title: string; children: preact.ComponentChildren }) {
  return (
    <section class="cards" aria-label={title}>
      <h3>{title}</h3>
      <ul>{children}</ul>
    </section>
  );
}

function timeOf(iso: string, language: Language): string {
  return new Intl.DateTimeFormat(language, { dateStyle: "full", timeStyle: "short" }).format(new Date(iso));
}
