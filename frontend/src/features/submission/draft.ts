/**
 * What the visitor has written, kept for this tab until it is sent, so that a reload loses nothing. A
 * browser that refuses to store simply forgets.
 */
const TEXT = "submission.text";
const ATTEMPT = "submission.attempt";

let current: { text: string; key: string } | undefined;

/** The text as it was left. */
export function loadDraft(): string {
  return read(TEXT) ?? "";
}

export function saveDraft(text: string): void {
  write(TEXT, text);
}

/**
 * Forgets the text and the attempt to send it: the same text sent later, on purpose, is a submission
 * of its own.
 */
export function clearDraft(): void {
  current = undefined;
  try {
    sessionStorage.removeItem(TEXT);
    sessionStorage.removeItem(ATTEMPT);
  } catch {
    // Nothing was stored, so nothing has to be removed.
  }
}

/**
 * The key under which the server recognises this text: the same for a repeated attempt, also after a
 * reload, another one as soon as the text changes.
 */
export function attemptKey(text: string): string {
  current ??= parseAttempt(read(ATTEMPT));
  if (current?.text !== text) {
    current = { text, key: randomKey() };
    write(ATTEMPT, JSON.stringify(current));
  }
  return current.key;
}

function parseAttempt(stored: string | null): typeof current {
  if (stored === null) return undefined;
  try {
    return JSON.parse(stored) as typeof current;
  } catch {
    return undefined;
  }
}

/** 128 random bits. `crypto.randomUUID` is missing on pages served without TLS. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function read(name: string): string | null {
  try {
    return sessionStorage.getItem(name);
  } catch {
    return null;
  }
}

function write(name: string, value: string): void {
  try {
    sessionStorage.setItem(name, value);
  } catch {
    // Full or forbidden: the page works on without it.
  }
}
