import { expect, test } from "vitest";
import { setupTokenOf, takeSetupToken } from "./setup-token.ts";

test("the token is in the fragment of the one-time link", () => {
  expect(setupTokenOf("#setup=abc-_1")).toBe("abc-_1");
  expect(setupTokenOf("#setup=")).toBeUndefined();
  expect(setupTokenOf("#screen")).toBeUndefined();
  expect(setupTokenOf("")).toBeUndefined();
});

test("the token leaves the address", () => {
  history.replaceState(null, "", "/_desk/#setup=abc");
  expect(takeSetupToken()).toBe("abc");
  expect(location.hash).toBe("");
});
