import type { Result } from "../../shared/result.ts";

/** Longest details the server takes, in code points. */
export const LONGEST = 1000;

/** From here on the form shows how much has been written. */
const COUNTED_FROM = 900;

const WHITE_SPACE = /^\p{White_Space}$/u;

/**
 * The details as they are stored, or what to tell the visitor. The server applies the same rule; both
 * are tested on one table of cases.
 */
export function checkDetails(written: string): Result<string, string> {
  const details = trim(written);
  const length = codePoints(details);
  if (length === 0) return { ok: false, error: "Details are required" };
  if (length > LONGEST) {
    return { ok: false, error: "Details must be less than 1000 characters" };
  }
  return { ok: true, value: details };
}

/** How much has been written, once that matters to the writer; before it, `undefined`. */
export function shownCount(written: string): number | undefined {
  const count = codePoints(trim(written));
  return count < COUNTED_FROM ? undefined : count;
}

/**
 * The count as a screen reader hears it: in steps of fifty, so that it does not speak at every key,
 * and exactly once the limit is passed.
 */
export function spokenCount(count: number | undefined): string {
  if (count === undefined) return "";
  if (count > LONGEST) return `${count - LONGEST} characters too many`;
  return `${Math.floor(count / 50) * 50} of ${LONGEST} characters used`;
}

/**
 * Takes away white space as Unicode defines it. `String.trim` differs: it also takes U+FEFF, and
 * leaves U+0085. Every such character is a single UTF-16 unit.
 */
function trim(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && WHITE_SPACE.test(text.charAt(start))) start += 1;
  while (end > start && WHITE_SPACE.test(text.charAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
