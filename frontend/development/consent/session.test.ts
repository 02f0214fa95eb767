import { expect, test } from "vitest";
import { clearSession, isExpired, loadSession, saveSession } from "./session.ts";

const SESSION = { access_token: "a", refresh_token: "r", expires_at: 1000 };

test("a saved session is loaded without the rest of the response", () => {
  const response = { ...SESSION, user: { email: "ann@example.com" } };
  saveSession(response);
  expect(loadSession()).toEqual(SESSION);
  expect(JSON.stringify({ ...sessionStorage })).not.toContain("ann@example.com");
});

test("a cleared session is gone", () => {
  saveSession(SESSION);
  clearSession();
  expect(loadSession()).toBeNull();
  expect(sessionStorage.length).toBe(0);
});

test.each([
  "{nonsense",
  "null",
  "[]",
  '{"access_token":""}',
  '{"access_token":"a","refresh_token":"r","expires_at":"soon"}',
])("a stored value that is no session counts as none: %s", (stored) => {
  sessionStorage.setItem("basalt.consent.session", stored);
  expect(loadSession()).toBeNull();
});

test.each([
  [989_999, false],
  [990_000, true],
  [1_000_000, true],
])("at %i ms a session that expires at 1,000 s has expired: %s", (now, expected) => {
  expect(isExpired(SESSION, now)).toBe(expected);
});
