import { expect, test } from "vitest";
import { accessLinkOf, takeAccessLink } from "./access-link.ts";

test("the token is in the fragment of the one-time link", () => {
  expect(accessLinkOf("#setup=abc-_1")).toEqual({ kind: "setup", token: "abc-_1" });
  expect(accessLinkOf("#invite=abc-_1")).toEqual({ kind: "invite", token: "abc-_1" });
  expect(accessLinkOf("#reset=abc-_1")).toEqual({ kind: "reset", token: "abc-_1" });
  expect(accessLinkOf("#setup=")).toBeUndefined();
  expect(accessLinkOf("#screen")).toBeUndefined();
  expect(accessLinkOf("")).toBeUndefined();
});

test("the token leaves the address", () => {
  history.replaceState(null, "", "/_desk/#setup=abc");
  expect(takeAccessLink()).toEqual({ kind: "setup", token: "abc" });
  expect(location.hash).toBe("");
});
