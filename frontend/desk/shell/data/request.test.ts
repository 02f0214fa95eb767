import * as v from "valibot";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { csrfToken, setCsrfToken } from "./csrf.ts";
import { describeFailure } from "./failure.ts";
import { fetchFile, Nothing, onSignedOut, retryAfter, send } from "./request.ts";

const fetched = vi.fn<(url: string, init: RequestInit) => Promise<Response>>();
const Answer = v.object({ value: v.number() });

beforeEach(() => {
  vi.stubGlobal("fetch", fetched);
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  fetched.mockReset();
  setCsrfToken(undefined);
});

function answerWith(status: number, content?: unknown, headers: Record<string, string> = {}): void {
  const body = content === undefined ? null : JSON.stringify(content);
  fetched.mockResolvedValueOnce(new Response(body, { status, headers }));
}

test("an answer of the expected form is returned", async () => {
  answerWith(200, { value: 1 });
  expect(await send({ path: "/x" }, Answer)).toEqual({ ok: true, value: { value: 1 } });
  expect(fetched.mock.calls[0]?.[0]).toBe("/_desk/api/x");
});

test("an answer of another form is a failure that suggests a reload", async () => {
  answerWith(200, { value: "one" });
  const sent = await send({ path: "/x" }, Answer);
  expect(sent).toMatchObject({ ok: false, error: { kind: "unexpected", code: "unknown_answer" } });
});

test("an answer without content is no failure", async () => {
  answerWith(204);
  expect(await send({ method: "DELETE", path: "/x" }, Nothing)).toEqual({
    ok: true,
    value: undefined,
  });
});

test("changes repeat the token of the session, questions do not", async () => {
  setCsrfToken("token");
  answerWith(204);
  await send({ method: "POST", path: "/x", body: {} }, Nothing);
  answerWith(204);
  await send({ path: "/x" }, Nothing);
  const tokens = fetched.mock.calls.map(([, init]) => new Headers(init.headers).get("x-desk-csrf"));
  expect(tokens).toEqual(["token", null]);
});

test("a change with an old token is repeated with the current one", async () => {
  setCsrfToken("old");
  answerWith(403, { code: "desk_csrf", message: "no" });
  answerWith(200, { csrf_token: "new" });
  answerWith(204);
  expect((await send({ method: "POST", path: "/x" }, Nothing)).ok).toBe(true);
  expect(csrfToken()).toBe("new");
  expect(fetched.mock.calls.map(([url]) => url)).toEqual([
    "/_desk/api/x",
    "/_desk/api/session",
    "/_desk/api/x",
  ]);
});

test("a change with the current token is not repeated", async () => {
  setCsrfToken("same");
  answerWith(403, { code: "desk_csrf", message: "no" });
  answerWith(200, { csrf_token: "same" });
  const sent = await send({ method: "POST", path: "/x" }, Nothing);
  expect(sent).toMatchObject({ ok: false, error: { kind: "forbidden" } });
  expect(fetched).toHaveBeenCalledTimes(2);
});

test("the end of the session is announced", async () => {
  const listener = vi.fn();
  const stop = onSignedOut(listener);
  answerWith(401, { code: "desk_session_missing", message: "no session" });
  await send({ path: "/x" }, Answer);
  answerWith(401, { code: "invalid_credentials", message: "wrong" });
  await send({ path: "/x" }, Answer);
  stop();
  expect(listener).toHaveBeenCalledTimes(1);
});

test.each([
  [403, "not_owner", "forbidden"],
  [404, "not_found", "missing"],
  [404, "passkeys_unavailable", "refused"],
  [409, "already_refunded", "refused"],
  [413, "too_large", "refused"],
  [429, "too_many_requests", "limited"],
  [502, "provider_refused", "refused"],
  [500, "internal_error", "unexpected"],
  [503, "unavailable", "busy"],
])("status %i with code %s is of the kind %s", async (status, code, kind) => {
  answerWith(status, { code, message: "it failed", hint: "do this" });
  const sent = await send({ path: "/x" }, Answer);
  expect(sent).toMatchObject({ error: { kind, code, message: "It failed.", hint: "Do this." } });
  if (!sent.ok) expect(describeFailure(sent.error).advice).toBe("Do this.");
});

test("a failure without a text of the server still says what to do", async () => {
  fetched.mockResolvedValueOnce(new Response("<html>", { status: 502 }));
  const sent = await send({ path: "/x" }, Answer);
  expect(sent.ok || describeFailure(sent.error).advice).toMatch(/Try again.*status 502/);
});

test("no answer is a failure of its own", async () => {
  fetched.mockRejectedValueOnce(new TypeError("failed"));
  expect(await send({ path: "/x" }, Answer)).toMatchObject({ error: { kind: "offline" } });
});

test("a file may take longer than the time limit once it has begun", async () => {
  vi.useFakeTimers();
  try {
    fetched.mockImplementationOnce((_, { signal }) => abortedBy(signal));
    const unanswered = fetchFile("/x");
    await vi.advanceTimersByTimeAsync(40_000);
    expect(await unanswered).toMatchObject({ ok: false, error: { code: "no_answer" } });

    let end: () => void = () => undefined;
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode("id\r\n"));
        end = () => controller.close();
      },
    });
    fetched.mockResolvedValueOnce(new Response(body));
    const loaded = fetchFile("/x");
    await vi.advanceTimersByTimeAsync(120_000);
    expect(fetched.mock.lastCall?.[1].signal?.aborted).toBe(false);
    end();
    const file = await loaded;
    expect(file.ok && (await file.value.text())).toBe("id\r\n");
  } finally {
    vi.useRealTimers();
  }
});

function abortedBy(signal: AbortSignal | null | undefined): Promise<Response> {
  return new Promise((_, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason));
  });
}

test("the server's wait is respected", async () => {
  answerWith(503, { code: "unavailable", message: "later" }, { "retry-after": "9" });
  const before = Date.now();
  const sent = await send({ path: "/x" }, Answer);
  expect(sent.ok ? 0 : (sent.error.retryAt ?? 0) - before).toBeGreaterThanOrEqual(9_000);
});

test.each([
  ["7", 7_000],
  ["0", 0],
  ["Thu, 01 Jan 1970 00:00:12 GMT", 12_000],
  ["Thu, 01 Jan 1960 00:00:00 GMT", 0],
  ["soon", 5_000],
  ["", 5_000],
  [null, 5_000],
])("Retry-After %j is a wait of %i ms", (header, wait) => {
  expect(retryAfter(header, 0)).toBe(wait);
});
