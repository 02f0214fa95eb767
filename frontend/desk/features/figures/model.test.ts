import { expect, test } from "vitest";
import { dayBefore } from "../../shell/format/format.ts";
import type { Day, TemplateFigures } from "./api.ts";
import {
  barsOf,
  checkRange,
  describeTests,
  formatRevenue,
  rangeOf,
  rankTemplates,
} from "./model.ts";

const NOW = Date.parse("2026-11-23T12:00:00Z");

function range(query: string) {
  const search = new URLSearchParams(query);
  return rangeOf((name) => search.get(name) ?? "", NOW);
}

function days(count: number): Day[] {
  return Array.from({ length: count }, (_, index) => ({
    date: dayBefore(count - 1 - index, NOW),
    views: 2,
    requests: 1,
    purchases: 0,
  }));
}

test.each([
  ["", { from: "2026-10-25", to: "2026-11-23", days: 30 }],
  ["days=7", { from: "2026-11-17", to: "2026-11-23", days: 7 }],
  ["days=8", { from: "2026-10-25", to: "2026-11-23", days: 30 }],
  ["from=2026-01-01&to=2026-01-31", { from: "2026-01-01", to: "2026-01-31" }],
  ["from=2026-02-01&to=2026-01-01", { from: "2026-10-25", to: "2026-11-23", days: 30 }],
  ["from=2020-01-01&to=2026-01-01", { from: "2026-10-25", to: "2026-11-23", days: 30 }],
])("the query %j is the range %j", (query, expected) => {
  expect(range(query)).toEqual(expected);
});

test("a range has at most 400 days", () => {
  expect(checkRange({ from: "2025-01-01", to: "2026-02-04" })).toBeUndefined();
  expect(checkRange({ from: "2025-01-01", to: "2026-02-05" })).toMatch(/400/);
  expect(checkRange({ from: "", to: "2026-02-05" })).toMatch(/both/);
});

test("a short range has a bar per day, a long one per week", () => {
  expect(barsOf(days(92), "views")).toHaveLength(92);
  const weeks = barsOf(days(365), "views");
  expect(weeks).toHaveLength(53);
  expect(weeks.reduce((sum, { value }) => sum + value, 0)).toBe(730);
  expect(weeks[0]?.value).toBe(14);
});

test("revenue names every currency", () => {
  expect(formatRevenue([])).toBe("–");
  const both = formatRevenue([
    { amount_minor: 2800, currency: "USD" },
    { amount_minor: 900, currency: "EUR" },
  ]);
  expect(both).toMatch(/28\.00 \+ .*9\.00/);
});

test("templates with more purchases come first", () => {
  const template = (id: number, purchases: number, views: number): TemplateFigures => ({
    id,
    title: "",
    views,
    requests: 0,
    purchases,
    revenue: [],
  });
  const ranked = rankTemplates([template(1, 0, 9), template(2, 1, 0), template(3, 0, 10)]);
  expect(ranked.map(({ id }) => id)).toEqual([2, 3, 1]);
});

test("tests are named with their number", () => {
  expect(describeTests({ views: 0, purchases: 0 }, false)).toBeUndefined();
  expect(describeTests({ views: 0, purchases: 1 }, false)).toBe("1 test order is not counted.");
  expect(describeTests({ views: 1_240, purchases: 13 }, false)).toBe(
    "13 test orders and 1,240 views during development are not counted.",
  );
  expect(describeTests({ views: 1, purchases: 0 }, true)).toBe(
    "1 view during development is counted.",
  );
});
