import * as v from "valibot";
import type { Result } from "../../../src/shared/result.ts";
import { csrfToken, setCsrfToken } from "./csrf.ts";
import type { Failure } from "./failure.ts";

/** The path of the API. */
export const API = "/_desk/api";

/** The longest wait for a response, in milliseconds. A refund waits for the payment provider, a file may take longer. */
const TIME_LIMIT = 40_000;

/** The wait after an answer that asks for one and does not name its length, in milliseconds. */
const DEFAULT_WAIT = 5_000;

const ErrorSchema = v.object({
  code: v.string(),
  message: v.string(),
  hint: v.nullish(v.string()),
});

/** The schema of answers without content. */
export const Nothing = v.pipe(
  v.unknown(),
  v.transform(() => undefined),
);

/** A request to the API. */
export interface ApiRequest {
  method?: "GET" | "POST" | "PATCH" | "DELETE";
  path: string;
  body?: unknown;
  /** A file to upload in place of a body, which may take longer than the time limit. */
  upload?: Blob;
  /** Whether the answer is a file, which may take longer than the time limit once it has begun. */
  isFile?: boolean;
}

type SignedOutListener = () => void;
const signedOutListeners = new Set<SignedOutListener>();

/** Calls the function whenever the server says that the session has ended. */
export function onSignedOut(listener: SignedOutListener): () => void {
  signedOutListeners.add(listener);
  return () => signedOutListeners.delete(listener);
}

/** Sends a request and checks the answer against the schema. Never throws. */
export async function send<Value>(
  request: ApiRequest,
  schema: v.GenericSchema<unknown, Value>,
): Promise<Result<Value, Failure>> {
  const response = await fetchResponse(request);
  if (!response.ok) return response;
  const content = await response.value.text().catch(() => undefined);
  const parsed = v.safeParse(schema, parseJson(content));
  if (parsed.success) return { ok: true, value: parsed.output };
  console.error("An answer has an unknown form:", request.path, v.flatten(parsed.issues));
  return {
    ok: false,
    error: {
      kind: "unexpected",
      code: "unknown_answer",
      message: "The answer has an unknown form.",
      hint: "Reload the page: it may be older than the server.",
    },
  };
}

/** Loads a file. Never throws; an incomplete file is a failure. */
export async function fetchFile(path: string): Promise<Result<Blob, Failure>> {
  const request = { path, isFile: true };
  const response = await fetchResponse(request);
  if (!response.ok) return response;
  try {
    return { ok: true, value: await response.value.blob() };
  } catch (cause) {
    return noAnswer(request, cause);
  }
}

/** Sends a request; returns the response if its status is a success. */
async function fetchResponse(request: ApiRequest): Promise<Result<Response, Failure>> {
  const response = await attempt(request);
  const isOldToken = !response.ok && response.error.code === "desk_csrf";
  return isOldToken && (await renewCsrfToken()) ? attempt(request) : response;
}

/** Asks for the token again: another tab can have signed in anew. Returns whether it is another one. */
async function renewCsrfToken(): Promise<boolean> {
  const before = csrfToken();
  if (before === undefined) return false;
  const session = await attempt({ path: "/session" });
  if (!session.ok) return false;
  const content = await session.value.text().catch(() => undefined);
  const parsed = v.safeParse(v.object({ csrf_token: v.string() }), parseJson(content));
  if (!parsed.success || parsed.output.csrf_token === before) return false;
  setCsrfToken(parsed.output.csrf_token);
  return true;
}

async function attempt(request: ApiRequest): Promise<Result<Response, Failure>> {
  const { method = "GET", path, body, upload, isFile = false } = request;
  const headers = new Headers({ accept: "application/json" });
  if (body !== undefined) headers.set("content-type", "application/json");
  if (upload !== undefined) headers.set("content-type", "application/octet-stream");
  const token = csrfToken();
  if (method !== "GET" && token !== undefined) headers.set("x-desk-csrf", token);
  const start = new AbortController();
  const timer = isFile ? setTimeout(() => start.abort(), TIME_LIMIT) : undefined;
  try {
    const response = await fetch(`${API}${path}`, {
      method,
      headers,
      body: upload ?? (body === undefined ? null : JSON.stringify(body)),
      credentials: "same-origin",
      cache: "no-store",
      signal: isFile || upload ? start.signal : AbortSignal.timeout(TIME_LIMIT),
    });
    return response.ok
      ? { ok: true, value: response }
      : { ok: false, error: await readFailure(response) };
  } catch (cause) {
    return noAnswer(request, cause);
  } finally {
    clearTimeout(timer);
  }
}

function noAnswer({ method = "GET", path }: ApiRequest, cause: unknown) {
  console.error("No answer:", method, path, cause);
  const error: Failure = { kind: "offline", code: "no_answer", message: "No answer." };
  return { ok: false as const, error };
}

/** Returns the failure that a response describes. */
export async function readFailure(response: Response): Promise<Failure> {
  const content = parseJson(await response.text().catch(() => undefined));
  const error = v.safeParse(ErrorSchema, content);
  const code = error.success ? error.output.code : `status ${response.status}`;
  const failure: Failure = {
    kind: kindOf(response.status, code),
    code,
    message: error.success ? sentence(error.output.message) : "The request failed.",
    hint: error.success && error.output.hint ? sentence(error.output.hint) : undefined,
  };
  if (failure.kind === "busy" || failure.kind === "limited") {
    failure.retryAt = Date.now() + retryAfter(response.headers.get("retry-after"));
  }
  if (failure.kind === "signed-out") for (const listener of signedOutListeners) listener();
  return failure;
}

function kindOf(status: number, code: string): Failure["kind"] {
  if (status === 401) return code === "desk_session_missing" ? "signed-out" : "refused";
  if (status === 403) return "forbidden";
  if (status === 404 && code === "not_found") return "missing";
  if (status === 429) return "limited";
  if (status === 503) return "busy";
  if (code === "provider_refused") return "refused";
  return status < 500 ? "refused" : "unexpected";
}

/** Returns the milliseconds of a `Retry-After` header: seconds, or a date (RFC 9110 §10.2.3). */
export function retryAfter(value: string | null, now = Date.now()): number {
  if (value === null || value.trim() === "") return DEFAULT_WAIT;
  const seconds = Number(value);
  const wait = Number.isNaN(seconds) ? Date.parse(value) - now : seconds * 1000;
  return Number.isNaN(wait) ? DEFAULT_WAIT : Math.max(0, wait);
}

function parseJson(content: string | undefined): unknown {
  try {
    return content ? JSON.parse(content) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the text as a sentence: with a capital letter and a full stop. */
function sentence(text: string): string {
  const full = /[.!?]$/.test(text) ? text : `${text}.`;
  return full.charAt(0).toUpperCase() + full.slice(1);
}
