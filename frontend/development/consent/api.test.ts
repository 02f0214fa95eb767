import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createAuthApi } from "./api.ts";

const SESSION = { access_token: "a", refresh_token: "r", expires_at: 1000 };
const api = createAuthApi("sb_publishable_1");
const fetch = vi.fn<typeof globalThis.fetch>();

beforeEach(() => {
  vi.stubGlobal("fetch", fetch);
});

afterEach(() => {
  vi.unstubAllGlobals();
  fetch.mockReset();
});

function respond(status: number, body: unknown): void {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  fetch.mockResolvedValue(new Response(text || null, { status }));
}

/** Returns path, request and headers of the only request. */
function sent() {
  expect(fetch).toHaveBeenCalledOnce();
  const [path, request] = fetch.mock.calls[0] ?? [];
  return { path, request, headers: new Headers(request?.headers) };
}

describe("a request", () => {
  test("carries the publishable key, no cookies, and follows no redirect", async () => {
    respond(200, SESSION);
    expect(await api.signInWithPassword("ann@example.com", "secret")).toEqual({
      ok: true,
      value: SESSION,
    });
    const { path, request, headers } = sent();
    expect(path).toBe("/auth/v1/token?grant_type=password");
    expect(request).toMatchObject({
      method: "POST",
      body: '{"email":"ann@example.com","password":"secret"}',
      credentials: "omit",
      redirect: "error",
    });
    expect(headers.get("apikey")).toBe("sb_publishable_1");
    expect(headers.has("authorization")).toBe(false);
  });

  test("with a session carries its token, and escapes the id in the path", async () => {
    respond(200, { redirect_url: "https://app.example/callback" });
    await api.decide("../x?", "approve", SESSION);
    const { path, request, headers } = sent();
    expect(path).toBe("/auth/v1/oauth/authorizations/..%2Fx%3F/consent");
    expect(request?.body).toBe('{"action":"approve"}');
    expect(headers.get("authorization")).toBe("Bearer a");
  });

  test("for a code creates no user", async () => {
    respond(200, {});
    expect(await api.sendCode("ann@example.com")).toEqual({ ok: true, value: {} });
    expect(sent().request?.body).toBe('{"email":"ann@example.com","create_user":false}');
  });

  test("that signs out accepts an empty response", async () => {
    respond(204, "");
    expect((await api.signOut(SESSION)).ok).toBe(true);
  });
});

describe("an authorization request", () => {
  test("is parsed, with empty values for an app and a user without names", async () => {
    respond(200, {
      authorization_id: "1",
      redirect_uri: "https://app.example/callback",
      client: { id: "c" },
      user: { id: "u" },
      scope: "openid",
    });
    expect(await api.getAuthorization("1", SESSION)).toEqual({
      ok: true,
      value: {
        redirect_uri: "https://app.example/callback",
        client: { name: "" },
        user: { id: "u", email: "" },
        scope: "openid",
      },
    });
  });

  test("that was approved before is a redirect", async () => {
    respond(200, { redirect_url: "https://app.example/callback?code=1" });
    expect(await api.getAuthorization("1", SESSION)).toEqual({
      ok: true,
      value: { redirect_url: "https://app.example/callback?code=1" },
    });
  });
});

describe("a failure", () => {
  test.each([
    [400, { error_code: "otp_expired", msg: "Expired" }, "otp_expired", "Expired"],
    [429, { code: "over_request_rate_limit", message: "Slow" }, "over_request_rate_limit", "Slow"],
    [422, { code: 422, msg: "Refused" }, undefined, "Refused"],
    [500, ["unexpected"], undefined, undefined],
  ])("with status %i and body %j is parsed", async (status, body, code, message) => {
    respond(status, body);
    expect(await api.verifyCode("ann@example.com", "1")).toEqual({
      ok: false,
      error: { status, code, message },
    });
  });

  test.each(["<html>", '{"access_token":"a"}', ""])(
    "is a success status with an unreadable body: %s",
    async (body) => {
      respond(200, body);
      expect(await api.refreshSession(SESSION)).toEqual({ ok: false, error: { status: 0 } });
    },
  );

  test("is a server that cannot be reached", async () => {
    fetch.mockRejectedValue(new TypeError("offline"));
    expect(await api.sendCode("ann@example.com")).toEqual({ ok: false, error: { status: 0 } });
  });
});
