import { describe, expect, test } from "vitest";
import {
  displayedTarget,
  errorMessage,
  isUnauthenticated,
  requestProblem,
  safeRedirect,
  scopeDescriptions,
} from "./model.ts";

describe("the message of a failure", () => {
  test("depends on the error code first", () => {
    const failure = { status: 400, code: "invalid_credentials", message: "Invalid login" };
    expect(errorMessage(failure)).toBe(
      "This address and this password do not belong together. Check both.",
    );
  });

  test.each([
    [{ status: 0 }, /^The server does not answer/],
    [{ status: 500, code: "unexpected_failure" }, /^Something broke on the server/],
    [{ status: 422, message: "Too short" }, /^The server refused: Too short\./],
    [{ status: 422 }, /^The server refused: 422\./],
  ])("of %j without a known code depends on the status", (failure, message) => {
    expect(errorMessage(failure)).toMatch(message);
  });
});

describe("the problem of a request", () => {
  test.each([
    [404, "This request is over", false],
    [400, "This request was answered already", false],
    [500, "That did not work", true],
    [0, "That did not work", true],
  ])("with status %i", (status, title, canRetry) => {
    expect(requestProblem({ status })).toMatchObject({ title, canRetry });
  });

  test.each([
    [401, true],
    [403, true],
    [400, false],
    [0, false],
  ])("with status %i asks for a sign-in: %s", (status, expected) => {
    expect(isUnauthenticated({ status })).toBe(expected);
  });
});

test("scopes are described, unknown ones named", () => {
  expect(scopeDescriptions("openid email files:read")).toEqual([
    "to know which account here is yours",
    "your e-mail address",
    "files:read",
  ]);
});

test.each([
  ["https://app.example/callback?x=1", "https://app.example"],
  ["http://localhost:3999/callback", "http://localhost:3999"],
  ["com.example.app:/callback", "com.example.app:/callback"],
  ["not an address", "not an address"],
])("the redirect URI %s is shown as %s", (uri, shown) => {
  expect(displayedTarget(uri)).toBe(shown);
});

test.each([
  "javascript:alert(1)",
  "JavaScript:alert(1)",
  "data:text/html,x",
  "file:///etc/passwd",
  "vbscript:x",
  "about:blank",
  "blob:https://app.example/1",
  "not an address",
  "",
])("the browser is not sent to %s", (address) => {
  expect(safeRedirect(address)).toBeUndefined();
});

test.each(["https://app.example/callback?code=1", "com.example.app:/callback?code=1"])(
  "the browser is sent to %s",
  (address) => {
    expect(safeRedirect(address)?.href).toBe(address);
  },
);
