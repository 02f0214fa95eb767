import * as v from "valibot";

/** The session of this tab: tokens, and the expiry in seconds since 1970. */
export const SessionSchema = v.object({
  access_token: v.pipe(v.string(), v.nonEmpty()),
  refresh_token: v.string(),
  expires_at: v.number(),
});

export type Session = v.InferOutput<typeof SessionSchema>;

const STORAGE_KEY = "basalt.consent.session";
const StoredSessionSchema = v.pipe(v.string(), v.parseJson(), SessionSchema);

/** A session is renewed this long before it expires. */
const RENEWAL_MARGIN_MS = 10_000;

/** Returns the stored session; `null` if there is none or the stored value cannot be read. */
export function loadSession(): Session | null {
  const stored = v.safeParse(StoredSessionSchema, sessionStorage.getItem(STORAGE_KEY));
  return stored.success ? stored.output : null;
}

/** Stores the session for this tab. */
export function saveSession({ access_token, refresh_token, expires_at }: Session): void {
  const stored = JSON.stringify({ access_token, refresh_token, expires_at });
  sessionStorage.setItem(STORAGE_KEY, stored);
}

/** Removes the stored session. */
export function clearSession(): void {
  sessionStorage.removeItem(STORAGE_KEY);
}

/** Returns whether the access token has to be renewed at `now`, in milliseconds since 1970. */
export function isExpired(session: Session, now: number): boolean {
  return session.expires_at * 1000 <= now + RENEWAL_MARGIN_MS;
}
