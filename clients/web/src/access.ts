/** With what the pages ask: nothing on a platform without keys, a key, a login at the issuer, or a session for visitors. */

import { Answerbus, ConnectionFailedError } from "@answerbus/client";
import { finishLogin, forgetLogin, loggedIn, LoginError, loginFetch, loginToken, logout, reasonOf, type LoginProblem } from "./issuer";

const KEY = "answerbus.key";
const SESSION = "answerbus.session";

export interface Caller {
  name: string;
  role: string;
  tenant: string;
}

/** Who is signed in; `fetch` sends requests in their name, and `token` is what it sends now (empty: nothing). */
export interface Signed {
  caller: Caller;
  by: "nothing" | "key" | "login";
  fetch: typeof fetch;
  token: () => string;
}

/** `conversation` is the only one in which a visitor's session may ask. */
export interface Access {
  client: Answerbus;
  by: Signed["by"] | "session";
  conversation: string;
}

interface Session {
  token: string;
  conversation_id: string;
  expires_at: string;
}

/** The access there is; null if somebody must sign in. Raises as `signedIn`. */
export async function openAccess(storage: Storage): Promise<Access | null> {
  const signed = await signedIn(storage);
  if (signed) return accessOf(signed);
  const session = keptSession(storage);
  if (session && (await recognise(withKey(session.token)))) return visitor(session);
  return startSession(storage);
}

/**
 * Who is signed in on this tab, also by a login from which the browser comes back just now; null: nobody.
 *
 * @throws LoginError a login has failed; ConnectionFailedError the server cannot be reached
 */
export async function signedIn(storage: Storage): Promise<Signed | null> {
  await finishLogin(storage);
  if (loggedIn(storage)) return loggedInAs(storage);
  const key = storage.getItem(KEY) ?? "";
  const found = await signedInBy(key);
  if (!found) storage.removeItem(KEY);
  return found;
}

/** Who enters this key; null if the server does not know it. */
export async function enter(storage: Storage, key: string): Promise<Signed | null> {
  const found = await signedInBy(key);
  if (found) storage.setItem(KEY, key);
  return found;
}

/** Forget key, login and session; whether the browser leaves for the issuer's page, which ends the login there, too. */
export function leave(storage: Storage): boolean {
  storage.removeItem(KEY);
  storage.removeItem(SESSION);
  return logout(storage);
}

/** A visitor's session with a conversation of its own; null where there are none. */
export async function startSession(storage: Storage): Promise<Access | null> {
  const reply = await fetch("/api/v1/sessions", { method: "POST" });
  if (!reply.ok) return null;
  const session = (await reply.json()) as Session;
  storage.setItem(SESSION, JSON.stringify(session));
  return visitor(session);
}

export function accessOf(signed: Signed): Access {
  return { client: clientBy(signed.fetch), by: signed.by, conversation: "" };
}

async function signedInBy(key: string): Promise<Signed | null> {
  const send = withKey(key);
  const caller = await recognise(send);
  return caller && { caller, by: key ? "key" : "nothing", fetch: send, token: () => key };
}

async function loggedInAs(storage: Storage): Promise<Signed> {
  const send = loginFetch(storage);
  const reply = await called(send);
  if (reply.ok) return { caller: (await reply.json()) as Caller, by: "login", fetch: send, token: () => loginToken(storage) };
  if (reply.status >= 500) throw new ConnectionFailedError(`${reply.status}`);
  const reason = reply.status === 403 ? "role" : await reasonOf(reply);
  forgetLogin(storage);
  throw new LoginError(PROBLEMS[reason] ?? "failed");
}

/** What the gateway says of a token, as somebody who logs in is told it. */
const PROBLEMS: Record<string, LoginProblem> = { role: "role", audience: "audience", expired: "expired" };

function visitor(session: Session): Access {
  return { client: clientBy(withKey(session.token)), by: "session", conversation: session.conversation_id };
}

function clientBy(send: typeof fetch): Answerbus {
  // Without tries in the background: whoever waits is told why, and for how long.
  return new Answerbus({ baseUrl: "", retries: 0, fetch: send });
}

function withKey(key: string): typeof fetch {
  return (input, init) => {
    const headers = new Headers(init?.headers);
    if (key) headers.set("Authorization", `Bearer ${key}`);
    return fetch(input, { ...init, headers });
  };
}

function keptSession(storage: Storage): Session | null {
  const session = JSON.parse(storage.getItem(SESSION) ?? "null") as Session | null;
  return session && Date.parse(session.expires_at) > Date.now() + 60_000 ? session : null;
}

/** Who sends requests this way, with the role; null if the server does not know them. */
async function recognise(send: typeof fetch): Promise<Caller | null> {
  const reply = await called(send);
  if (reply.status >= 500) throw new ConnectionFailedError(`${reply.status}`);
  return reply.ok ? ((await reply.json()) as Caller) : null;
}

async function called(send: typeof fetch): Promise<Response> {
  try {
    return await send("/api/v1/caller", { cache: "no-store" });
  } catch (failure) {
    if (failure instanceof LoginError) throw failure;
    throw new ConnectionFailedError(String(failure), { cause: failure });
  }
}
