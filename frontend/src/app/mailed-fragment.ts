/** What a mailed link brought: a session, or nothing that can be used, such as an error. */
export interface MailedSession {
  tokens?: { access_token: string; refresh_token: string };
}

const MAILED = ["access_token", "refresh_token", "error", "error_code"];

/**
 * Returns what a mailed link put into the fragment of the address, and removes it from there at once: nobody should see a
 * session in the address, in the history or in a copied link.
 */
export function takeMailedSession(): MailedSession | undefined {
  const given = new URLSearchParams(location.hash.replace(/^#/, ""));
  if (!MAILED.some((name) => given.has(name))) return undefined;
  history.replaceState(history.state, "", location.pathname + location.search);
  const access_token = given.get("access_token");
  const refresh_token = given.get("refresh_token");
  return access_token && refresh_token ? { tokens: { access_token, refresh_token } } : {};
}
