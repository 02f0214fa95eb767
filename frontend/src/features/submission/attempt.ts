import * as v from "valibot";
import { tabStorage } from "../../shared/tab-storage.ts";

/** The last attempt to send a text. */
const ATTEMPT = "submission.attempt";

const AttemptSchema = v.object({ text: v.string(), key: v.pipe(v.string(), v.nonEmpty()) });
const StoredAttemptSchema = v.pipe(v.string(), v.parseJson(), AttemptSchema);

let current: v.InferOutput<typeof AttemptSchema> | undefined;

/**
 * Returns the idempotency key of this text: the same for a repeated attempt, also after a reload,
 * another one as soon as the text changes.
 */
export function attemptKey(text: string): string {
  current ??= parseAttempt(tabStorage.read(ATTEMPT));
  if (current?.text !== text) {
    current = { text, key: randomKey() };
    tabStorage.write(ATTEMPT, JSON.stringify(current));
  }
  return current.key;
}

/** Forgets the attempt, which has succeeded: the same text sent later, on purpose, is a submission of its own. */
export function endAttempt(): void {
  current = undefined;
  tabStorage.remove(ATTEMPT);
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
