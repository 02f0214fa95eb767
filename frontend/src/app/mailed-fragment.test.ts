import { afterEach, expect, test } from "vitest";
import { takeMailedSession } from "./mailed-fragment.ts";

afterEach(() => history.replaceState(null, "", "/"));

test("the session of a mailed link leaves the address at once", () => {
  const entries = history.length;
  history.replaceState({ key: "a" }, "", "/?q=1#access_token=a.b.c&refresh_token=r&type=magiclink");
  expect(takeMailedSession()).toEqual({
    tokens: { access_token: "a.b.c", refresh_token: "r" },
  });
  expect(location.href).toBe(`${location.origin}/?q=1`);
  expect(history.state).toEqual({ key: "a" });
  expect(history.length).toBe(entries);
  expect(takeMailedSession()).toBeUndefined();
});

test("an error of a mailed link leaves the address, and no session begins", () => {
  history.replaceState(null, "", "/#error=access_denied&error_code=otp_expired");
  expect(takeMailedSession()).toEqual({});
  expect(location.hash).toBe("");
});

test("other fragments stay", () => {
  history.replaceState(null, "", "/template/1#preview");
  expect(takeMailedSession()).toBeUndefined();
  expect(location.hash).toBe("#preview");
});
