import { expect, test } from "vitest";
import { dayBefore, formatBrief, formatDay, formatMoney, formatPlural } from "./format.ts";

test.each([
  [2800, "USD", "$28.00"],
  [125000, "USD", "$1,250.00"],
  [-2805, "USD", "-$28.05"],
  [2800, "JPY", "¥2,800"],
  [123456789, "EUR", "€1,234,567.89"],
  [1234500, "KWD", "KWD\u00a01,234.500"],
  [125000, "ISK", "ISK\u00a01,250.00"],
])("%i minor units of %s are %s, as in the mails", (minor, currency, expected) => {
  expect(formatMoney(minor, currency)).toBe(expected);
});

test("an unknown currency does not prevent an amount", () => {
  expect(formatMoney(2800, "?")).toBe("28.00 ?");
});

test("times of the last hour are relative", () => {
  const now = Date.parse("2026-11-23T12:00:00Z");
  expect(formatBrief("2026-11-23T11:59:40Z", now)).toBe("just now");
  expect(formatBrief("2026-11-23T11:15:00Z", now)).toBe("45 min ago");
  expect(formatBrief("2026-03-02T12:00:00Z", now)).not.toContain("2026");
  expect(formatBrief("2025-03-02T12:00:00Z", now)).toContain("2025");
});

test("days are those of UTC in every time zone", () => {
  expect(formatDay("2026-11-01")).toMatch(/^(Nov 1|1 Nov)$/);
  expect(dayBefore(29, Date.parse("2026-11-23T23:59:00Z"))).toBe("2026-10-25");
});

test("a number agrees with its noun", () => {
  expect([0, 1, 1200].map((count) => formatPlural(count, "order"))).toEqual([
    "0 orders",
    "1 order",
    "1,200 orders",
  ]);
});
