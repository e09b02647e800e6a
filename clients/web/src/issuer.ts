/** Login at the issuer of tokens: authorization code flow with PKCE, for a public client; and the tokens of it. */

/** The issuer's endpoints and this page's client, as `GET /api/v1/login` tells them. */
export interface Provider {
  issuer: string;
  client_id: string;
  scope: string;
  parameters: Record<string, string>;
  authorization_endpoint: string;
  token_endpoint: string;
  end_session_endpoint: string;
}

/** With what a page may ask; `problem`: there is an issuer, but it cannot be reached. */
export interface Methods {
  open: boolean;
  keys: boolean;
  sessions: boolean;
  provider: Provider | null;
  problem: string;
}

/** Why somebody is not logged in, as far as they can do something about it. */
export type LoginProblem = "denied" | "expired" | "audience" | "role" | "foreign" | "unreachable" | "insecure" | "failed";

export class LoginError extends Error {
  override name = "LoginError";

  constructor(
    readonly problem: LoginProblem,
    detail = "",
  ) {
    super(detail || problem);
  }
}

/** What the page is told when a login has ended by itself; its `detail` is the `LoginProblem`. */
export const LOGIN_ENDED = "answerbus:login-ended";

interface Pending {
  state: string;
  nonce: string;
  verifier: string;
  /** Where in the page the login began. */
  hash: string;
  provider: Provider;
}

interface Tokens {
  access: string;
  refresh: string;
  id: string;
  /** When the access token is renewed, in milliseconds since 1970; 0: the issuer did not say how long it lasts. */
  renew: number;
  provider: Provider;
}

interface TokenReply {
  access_token?: unknown;
  refresh_token?: unknown;
  id_token?: unknown;
  expires_in?: unknown;
  error?: unknown;
  error_description?: unknown;
}

const PENDING = "answerbus.login.pending";
const TOKENS = "answerbus.login";
/** Seconds before its end in which a token is renewed. */
const MARGIN = 30;

/** @throws Error the server cannot be reached */
export async function loginMethods(): Promise<Methods> {
  const reply = await fetch("/api/v1/login", { cache: "no-store" });
  if (!reply.ok) throw new Error(`${reply.status}`);
  return (await reply.json()) as Methods;
}

/** Whether this tab is logged in. */
export function loggedIn(storage: Storage): boolean {
  return storage.getItem(TOKENS) !== null;
}

/**
 * Leave this page for the issuer's; it sends the browser back here.
 *
 * @throws LoginError the browser has no cryptography for pages without https
 */
export async function beginLogin(storage: Storage, provider: Provider): Promise<void> {
  if (!globalThis.crypto?.subtle) throw new LoginError("insecure");
  const pending: Pending = { state: random(), nonce: random(), verifier: random(), hash: location.hash, provider };
  storage.setItem(PENDING, JSON.stringify(pending));
  const address = new URL(provider.authorization_endpoint);
  const asked = {
    ...provider.parameters,
    response_type: "code",
    client_id: provider.client_id,
    redirect_uri: home(),
    scope: provider.scope,
    state: pending.state,
    nonce: pending.nonce,
    code_challenge: await challengeOf(pending.verifier),
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(asked)) address.searchParams.set(name, value);
  location.assign(address);
}

/**
 * Finish a login from which the browser comes back; nothing where it does not.
 *
 * @throws LoginError it was refused, was not asked for by this tab, or gave no token
 */
export async function finishLogin(storage: Storage): Promise<void> {
  const reply = new URLSearchParams(location.search);
  const state = reply.get("state");
  if (!state || !(reply.has("code") || reply.has("error"))) return;
  const pending = read<Pending>(storage, PENDING);
  storage.removeItem(PENDING);
  // The code is worth nothing any more, but belongs into no history.
  history.replaceState(null, "", location.pathname + (pending?.hash ?? location.hash));
  const foreign = !pending || pending.state !== state || (reply.get("iss") ?? pending.provider.issuer) !== pending.provider.issuer;
  if (foreign) {
    if (loggedIn(storage)) return; // an address that somebody sent changes nothing
    throw new LoginError("foreign");
  }
  const { provider, verifier } = pending;
  if (reply.has("error")) {
    throw new LoginError(reply.get("error") === "access_denied" ? "denied" : "failed", reply.get("error_description") ?? "");
  }
  const asked = { grant_type: "authorization_code", code: reply.get("code") ?? "", redirect_uri: home(), code_verifier: verifier };
  const tokens = await request(provider, asked);
  if (provider.scope.split(" ").includes("openid")) checkIdToken(tokens.id, pending);
  storage.setItem(TOKENS, JSON.stringify(tokens));
}

/** Requests with the token of this tab's login, which is renewed before it expires, where the issuer allows that. */
export function loginFetch(storage: Storage): typeof fetch {
  let renewing: Promise<string> | null = null;
  const renewed = (tokens: Tokens): Promise<string> => (renewing ??= renew(storage, tokens).finally(() => (renewing = null)));
  const send = async (input: RequestInfo | URL, init: RequestInit | undefined, token: string): Promise<Response> => {
    const headers = new Headers(init?.headers);
    headers.set("Authorization", `Bearer ${token}`);
    return fetch(input, { ...init, headers });
  };
  return async (input, init) => {
    const tokens = read<Tokens>(storage, TOKENS);
    if (!tokens) throw new LoginError("expired");
    const due = tokens.refresh !== "" && tokens.renew > 0 && tokens.renew < Date.now();
    const token = due ? await renewed(tokens) : tokens.access;
    const reply = await send(input, init, token);
    if (reply.status !== 401) return reply;
    // Expired, or withdrawn: one more try with a new token, and then a new login.
    if (tokens.refresh && !due && (await reasonOf(reply)) === "expired") return send(input, init, await renewed(tokens));
    if ((await reasonOf(reply)) === "expired") ended(storage, "expired");
    return reply;
  };
}

/** The token that requests are sent with now; empty where the login has ended. */
export function loginToken(storage: Storage): string {
  return read<Tokens>(storage, TOKENS)?.access ?? "";
}

/** Why the gateway refuses a token (`reason` of its reply); empty where it does not say. */
export async function reasonOf(reply: Response): Promise<string> {
  const problem = (await reply
    .clone()
    .json()
    .catch(() => null)) as { reason?: unknown } | null;
  return typeof problem?.reason === "string" ? problem.reason : "";
}

/** Forget the tokens; whether the browser leaves for the issuer's page, which ends the login there, too. */
export function logout(storage: Storage): boolean {
  const tokens = read<Tokens>(storage, TOKENS);
  forgetLogin(storage);
  if (!tokens?.provider.end_session_endpoint) return false;
  const address = new URL(tokens.provider.end_session_endpoint);
  address.searchParams.set("client_id", tokens.provider.client_id);
  address.searchParams.set("post_logout_redirect_uri", home());
  if (tokens.id) address.searchParams.set("id_token_hint", tokens.id);
  location.assign(address);
  return true;
}

export function forgetLogin(storage: Storage): void {
  storage.removeItem(TOKENS);
  storage.removeItem(PENDING);
}

function ended(storage: Storage, problem: LoginProblem): void {
  forgetLogin(storage);
  dispatchEvent(new CustomEvent<LoginProblem>(LOGIN_ENDED, { detail: problem }));
}

async function renew(storage: Storage, tokens: Tokens): Promise<string> {
  try {
    const found = await request(tokens.provider, { grant_type: "refresh_token", refresh_token: tokens.refresh });
    // An issuer that gives no other refresh token or ID token lets one keep the first.
    const kept = { ...found, refresh: found.refresh || tokens.refresh, id: found.id || tokens.id };
    if (loggedIn(storage)) storage.setItem(TOKENS, JSON.stringify(kept));
    return found.access;
  } catch (error) {
    if (error instanceof LoginError && error.problem === "unreachable") return tokens.access; // it may still be valid
    ended(storage, "expired");
    throw error;
  }
}

async function request(provider: Provider, asked: Record<string, string>): Promise<Tokens> {
  const resource = provider.parameters["resource"];
  const body = new URLSearchParams({ ...asked, client_id: provider.client_id, ...(resource ? { resource } : {}) });
  let reply: Response;
  try {
    reply = await fetch(provider.token_endpoint, { method: "POST", body, credentials: "omit", cache: "no-store", redirect: "error" });
  } catch {
    throw new LoginError("unreachable");
  }
  const found = (await reply.json().catch(() => ({}))) as TokenReply;
  if (!reply.ok || typeof found.access_token !== "string") {
    throw new LoginError(found.error === "invalid_grant" ? "expired" : "failed", text(found.error_description) || text(found.error));
  }
  const seconds = Number(found.expires_in) || 0;
  return {
    access: found.access_token,
    refresh: text(found.refresh_token),
    id: text(found.id_token),
    renew: seconds > 0 ? Date.now() + Math.max(seconds - MARGIN, seconds / 2) * 1000 : 0,
    provider,
  };
}

/**
 * Check that the ID token is the reply to this login. It comes from the issuer itself over TLS, which stands for its
 * signature (OpenID Connect Core 1.0, section 3.1.3.7).
 */
function checkIdToken(token: string, pending: Pending): void {
  const claims = claimsOf(token);
  const audience = Array.isArray(claims["aud"]) ? claims["aud"] : [claims["aud"]];
  const right =
    claims["iss"] === pending.provider.issuer && claims["nonce"] === pending.nonce && audience.includes(pending.provider.client_id);
  if (!right) throw new LoginError("foreign");
}

function claimsOf(token: string): Record<string, unknown> {
  try {
    const bytes = Uint8Array.from(atob((token.split(".")[1] ?? "").replace(/-/g, "+").replace(/_/g, "/")), (one) => one.charCodeAt(0));
    const claims: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof claims === "object" && claims !== null ? (claims as Record<string, unknown>) : {};
  } catch {
    return {}; // no token of this form has the claims that are looked for
  }
}

/** This page, without query and fragment, as it is registered at the issuer. */
function home(): string {
  return location.origin + location.pathname;
}

/** 43 characters that nobody can guess. */
function random(): string {
  return encoded(crypto.getRandomValues(new Uint8Array(32)));
}

async function challengeOf(verifier: string): Promise<string> {
  return encoded(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier))));
}

function encoded(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

function read<T>(storage: Storage, name: string): T | null {
  try {
    return JSON.parse(storage.getItem(name) ?? "null") as T | null;
  } catch {
    return null; // written by something else
  }
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
