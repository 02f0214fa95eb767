import { BasaltError } from "./error.js";

/** A length of time: milliseconds, or text such as `90s`, `61m` or `1h30m`. */
export type Duration = number | string;

const UNITS: Record<string, number> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};
const PART = /(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)/g;
const WHOLE = /^[+-]?(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+$/;

/** Returns a length of time in milliseconds. */
export function toMilliseconds(length: Duration): number {
  if (typeof length === "number") return length;
  if (!WHOLE.test(length)) {
    throw new BasaltError(
      "invalid_duration",
      `${JSON.stringify(length)} is no length of time`,
      "give milliseconds, or text such as 90s, 61m or 1h30m",
    );
  }
  let sum = 0;
  for (const [, number = "0", unit = "ms"] of length.matchAll(PART)) {
    sum += Number(number) * (UNITS[unit] ?? 1);
  }
  return length.startsWith("-") ? -sum : sum;
}

/** Returns a length of time as the test API takes it. */
export function formatDuration(length: Duration): string {
  return typeof length === "number" ? `${length}ms` : length;
}
