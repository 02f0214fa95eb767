/** Words that may be an address, of letters of every script, digits, signs and combining marks. */
const WORD =
  /(?:[\p{Alphabetic}\p{N}@.!#$%&'*+\-/=?^_`{|}~:\\]|[\u{300}-\u{36f}]|[\u{1ab0}-\u{1aff}]|[\u{1dc0}-\u{1dff}]|[\u{20d0}-\u{20ff}]|[\u{fe20}-\u{fe2f}])+/gu;

/** The longest address, and the longest part before its `@` (RFC 5321 §4.5.3.1). */
const LONGEST_ADDRESS = 254;
const LOCAL_PART = /^(?!\.)(?!.*\.\.)[A-Za-z0-9._%+'-]{1,64}(?<!\.)$/;
const LABEL = /^(?!-)[A-Za-z0-9-]{1,63}(?<!-)$/;
const TOP_LABEL = /^(?:[A-Za-z]{2,}|xn--.*)$/;

/**
 * Returns the address to which the server sends a confirmation: the only one in the text. The server
 * applies the same rule; a common table of cases tests both.
 */
export function findOnlyAddress(text: string): string | undefined {
  let only: string | undefined;
  for (const [part] of text.matchAll(WORD)) {
    if (!part.includes("@")) continue;
    const word = part.replace(/[.'-]+$/, "").replace(/^'+/, "");
    if (only !== undefined && lowerCase(only) !== lowerCase(word)) return undefined;
    only = word;
  }
  return only !== undefined && isAddress(only) ? only : undefined;
}

function isAddress(word: string): boolean {
  const at = word.indexOf("@");
  const labels = word.slice(at + 1).split(".");
  return (
    word.length <= LONGEST_ADDRESS &&
    LOCAL_PART.test(word.slice(0, at)) &&
    labels.length > 1 &&
    labels.every((label) => LABEL.test(label)) &&
    TOP_LABEL.test(labels.at(-1) ?? "")
  );
}

/** Returns the text with letters of ASCII in lower case; others differ from their upper case. */
function lowerCase(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
