import { expect, test } from "vitest";
import { queryOf, withChanges } from "./use-filters.ts";

test("an empty value removes a filter and others stay", () => {
  const before = new URLSearchParams("status=all&search=tea&before=9");
  expect(String(withChanges(before, { before: "", search: "" }))).toBe("status=all");
  expect(String(before)).toBe("status=all&search=tea&before=9");
});

test("a query contains only what is set, encoded", () => {
  expect(queryOf({ search: "a&b", status: "" })).toBe("?search=a%26b");
  expect(queryOf({ search: "" })).toBe("");
});
