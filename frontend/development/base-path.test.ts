import { expect, it } from "vitest";
import { basePathOf } from "./base-path.ts";

it("finds the path of a world in front of the pages", () => {
  expect(basePathOf("/_dev/inbox")).toBe("");
  expect(basePathOf("/w/ab12/_dev/inbox")).toBe("/w/ab12");
  expect(basePathOf("/")).toBe("");
});
