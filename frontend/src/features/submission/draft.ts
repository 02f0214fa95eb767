import * as v from "valibot";

/**
 * The text of the visitor, stored for this tab until it is sent, so that a reload loses nothing.
 * Without storage the text lasts until the reload.
 */
const TEXT = "submission.text";
const ATTEMPT = "submission.attempt";

const AttemptSchema = v.object({ text: v.string(), key: v.pipe(v.string(), v.nonEmpty()) });
const StoredAttemptSchema = v.pipe(v.string(), v.parseJson(), AttemptSchema);

let current: v.InferOutput<typeof AttemptSchema> | undefined;

/** Returns the stored text. */
export function loadDraft(): string {
  return read(TEXT) ?? "";
}

/** Stores the text. */
export function saveDraft(text: string): void {
  write(TEXT, text);
}

/**
 * Removes the text and the attempt to send it: the same text sent later, on purpose, is a submission
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
 * Returns the idempotency key of this text: the same for a repeated attempt, also after a reload,
 * another one as soon as the text changes.
 */
export function attemptKey(text: string): string {
  current ??= parseAttempt(read(ATTEMPT));
  if (current?.text !== text) {
    current = { text, key: randomKey() };
    write(ATTEMPT, JSON.stringify(current));
  }
  return current.key;
}

/** Returns the stored attempt; `undefined` if there is none or it cannot be read. */
function parseAttempt(stored: string | null): typeof current {
  const attempt = v.safeParse(StoredAttemptSchema, stored);
  return attempt.success ? attempt.output : undefined;
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
    // The storage is full or forbidden; the page works without it.
  }
}
