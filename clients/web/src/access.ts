/** With what this page asks: nothing on a platform without keys, a key, or a session for visitors. */

import { Answerbus } from "@answerbus/client";

const KEY = "answerbus.key";
const SESSION = "answerbus.session";

/** `conversation` is the only one in which a visitor's session may ask. */
export interface Access {
  client: Answerbus;
  byKey: boolean;
  conversation: string;
}

export interface Caller {
  name: string;
  role: string;
  tenant: string;
}

interface Session {
  token: string;
  conversation_id: string;
  expires_at: string;
}

/** The access there is; null if a key must be entered. */
export async function openAccess(storage: Storage): Promise<Access | null> {
  const key = kept(storage);
  if (await known(key)) return accessBy(key);
  storage.removeItem(KEY);
  const session = keptSession(storage);
  if (session && (await known(session.token))) return visitor(session);
  return startSession(storage);
}

/** The access of a key that was entered; null if the server does not know it. */
export async function enter(storage: Storage, key: string): Promise<Access | null> {
  if (!(await known(key))) return null;
  keep(storage, key);
  return accessBy(key);
}

/** The key that was entered in this tab; empty where there is none. */
export function kept(storage: Storage): string {
  return storage.getItem(KEY) ?? "";
}

export function keep(storage: Storage, key: string): void {
  storage.setItem(KEY, key);
}

export function leave(storage: Storage): void {
  storage.removeItem(KEY);
  storage.removeItem(SESSION);
}

/** A visitor's session with a conversation of its own; null where there are none. */
export async function startSession(storage: Storage): Promise<Access | null> {
  const reply = await fetch("/api/v1/sessions", { method: "POST" });
  if (!reply.ok) return null;
  const session = (await reply.json()) as Session;
  storage.setItem(SESSION, JSON.stringify(session));
  return visitor(session);
}

function accessBy(key: string): Access {
  return { client: clientWith(key), byKey: key !== "", conversation: "" };
}

function visitor(session: Session): Access {
  return { client: clientWith(session.token), byKey: false, conversation: session.conversation_id };
}

function clientWith(apiKey: string): Answerbus {
  // Without tries in the background: whoever waits is told why, and for how long.
  return new Answerbus({ baseUrl: "", apiKey, retries: 0 });
}

function keptSession(storage: Storage): Session | null {
  const session = JSON.parse(storage.getItem(SESSION) ?? "null") as Session | null;
  return session && Date.parse(session.expires_at) > Date.now() + 60_000 ? session : null;
}

async function known(key: string): Promise<boolean> {
  return (await recognise(key)) !== null;
}

/** Who this key is, with the role; null if the server does not know it. */
export async function recognise(key: string): Promise<Caller | null> {
  const reply = await fetch("/api/v1/caller", { headers: key ? { Authorization: `Bearer ${key}` } : {} });
  return reply.ok ? ((await reply.json()) as Caller) : null;
}
