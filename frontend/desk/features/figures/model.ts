import type { Bar } from "../../shell/chart/bar-chart.tsx";
import {
  dayBefore,
  formatCount,
  formatDay,
  formatFullDay,
  formatMoney,
} from "../../shell/format/format.ts";
import type { Day, TemplateFigures } from "./api.ts";

export const METRICS = ["views", "requests", "purchases"] as const;

export type Metric = (typeof METRICS)[number];

/** The days of a range, both included, as `2026-11-23`. */
export interface Range {
  from: string;
  to: string;
}

/** The ranges that end today, by their number of days. */
export const PRESETS = [7, 30, 90, 365] as const;

const DEFAULT_DAYS = 30;
const DAY_FORM = /^\d{4}-\d{2}-\d{2}$/;

/** More days than this are summed up by week. */
const MOST_DAILY_BARS = 92;

/** The most days of a range. */
const MOST_DAYS = 400;

/** Returns what is wrong with a range; `undefined` if it can be shown. */
export function checkRange({ from, to }: Range): string | undefined {
  if (!DAY_FORM.test(from) || !DAY_FORM.test(to)) return "Enter both days.";
  if (from > to) return "The first day must not be after the last day.";
  const days = (Date.parse(to) - Date.parse(from)) / 86_400_000 + 1;
  return days > MOST_DAYS ? `Choose at most ${MOST_DAYS} days.` : undefined;
}

/** Returns the range of the address: a number of days, or two days; otherwise the last 30 days. */
export function rangeOf(
  get: (name: string) => string,
  now = Date.now(),
): Range & { days?: number } {
  const [from, to] = [get("from"), get("to")];
  if (checkRange({ from, to }) === undefined) return { from, to };
  const days = PRESETS.find((preset) => String(preset) === get("days")) ?? DEFAULT_DAYS;
  return { from: dayBefore(days - 1, now), to: dayBefore(0, now), days };
}

/** Returns the bars of a metric, one per day, or for a long range one per week. */
export function barsOf(days: readonly Day[], metric: Metric): Bar[] {
  if (days.length <= MOST_DAILY_BARS) {
    return days.map((day) => ({
      label: formatDay(day.date),
      title: formatFullDay(day.date),
      value: day[metric],
    }));
  }
  const weeks = Array.from({ length: Math.ceil(days.length / 7) }, (_, week) =>
    days.slice(week * 7, week * 7 + 7),
  );
  return weeks.map((week) => {
    const [first, last] = [week[0]?.date ?? "", week.at(-1)?.date ?? ""];
    return {
      label: formatDay(first),
      title: `${formatDay(first)} to ${formatDay(last)}`,
      value: week.reduce((sum, day) => sum + day[metric], 0),
    };
  });
}

/** Tells whether the bars stand for weeks. */
export function isWeekly(days: readonly Day[]): boolean {
  return days.length > MOST_DAILY_BARS;
}

/** Returns amounts of several currencies in one text. */
export function formatRevenue(
  amounts: readonly { amount_minor: number; currency: string }[],
): string {
  if (amounts.length === 0) return "–";
  return amounts
    .map(({ amount_minor, currency }) => formatMoney(amount_minor, currency))
    .join(" + ");
}

/** Returns the purchases per 100 views; `undefined` without views. */
export function conversionOf({ views, purchases }: Pick<Day, "views" | "purchases">) {
  return views === 0 ? undefined : (purchases / views) * 100;
}

/** Returns the templates with the most purchases first, then requests, then views. */
export function rankTemplates(templates: readonly TemplateFigures[]): TemplateFigures[] {
  return [...templates].sort(
    (one, other) =>
      other.purchases - one.purchases ||
      other.requests - one.requests ||
      other.views - one.views ||
      one.id - other.id,
  );
}

/** Says how many orders and views come from tests, and whether they are part of the figures. */
export function describeTests(
  { views, purchases }: { views: number; purchases: number },
  isCounted: boolean,
): string | undefined {
  const parts = [
    purchases > 0 && `${formatCount(purchases)} test ${purchases === 1 ? "order" : "orders"}`,
    views > 0 && `${formatCount(views)} ${views === 1 ? "view" : "views"} during development`,
  ].filter(Boolean);
  if (parts.length === 0) return undefined;
  const verb = views + purchases === 1 ? "is" : "are";
  return `${parts.join(" and ")} ${verb} ${isCounted ? "" : "not "}counted.`;
}
