import type { Result } from "../../shared/result.ts";

/** Maximum length of the details, in code points. */
export const LONGEST = 1000;

/** The form shows the length from this number of code points. */
const COUNTED_FROM = 900;

const WHITE_SPACE = /^\p{White_Space}$/u;

/**
 * Returns the details as they are stored, or the error message. The server applies the same rule; a
 * common table of cases tests both.
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

/** Returns the length of the details; `undefined` while it is far below the maximum. */
export function shownCount(written: string): number | undefined {
  const count = codePoints(trim(written));
  return count < COUNTED_FROM ? undefined : count;
}

/**
 * Returns the announcement of the length to screen readers: in steps of fifty, so that not every key
 * is announced, and exactly above the maximum.
 */
export function spokenCount(count: number | undefined): string {
  if (count === undefined) return "";
  const excess = count - LONGEST;
  if (excess > 0) return `${excess} ${excess === 1 ? "character" : "characters"} too many`;
  return `${Math.floor(count / 50) * 50} of ${LONGEST} characters used`;
}

/**
 * Removes leading and trailing white space as Unicode defines it. `String.trim` differs: it also
 * removes U+FEFF, and keeps U+0085. Each of these characters is a single UTF-16 unit.
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
