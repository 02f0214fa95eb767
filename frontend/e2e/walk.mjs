/**
 * Runs the unmodified client through sign-up, sign-in, functions and sign-out. It runs in a browser
 * (`supabase.spec.ts`) and under Node (`node-client.test.mjs`), and uses nothing but its arguments.
 *
 * @param {object} options
 * @param {typeof import("@supabase/supabase-js").createClient} options.createClient
 * @param {string} options.url
 * @param {string} options.key
 * @param {string} options.address An unused address.
 * @param {(address: string) => Promise<string>} options.mailedLink Returns the latest mailed link to an address.
 * @param {(link: string) => Promise<void>} options.open Opens a link.
 * @returns {Promise<Record<keyof typeof EXPECTED, unknown>>} The observed results, to be compared with `EXPECTED`.
 */
export async function walk({ createClient, url, key, address, mailedLink, open }) {
  const client = createClient(url, key);
  const password = "a long walk along the quay";
  const credentials = { email: address, password };
  /** @type {string[]} */
  const events = [];
  client.auth.onAuthStateChange((event) => {
    events.push(event);
  });

  const signedUp = await client.auth.signUp({ ...credentials, options: { data: { name: "Ada" } } });
  const early = await client.auth.signInWithPassword(credentials);
  await open(await mailedLink(address));
  const wrong = await client.auth.signInWithPassword({ ...credentials, password: "a short walk" });
  const signedIn = await client.auth.signInWithPassword(credentials);
  const refreshed = await client.auth.refreshSession();
  const updated = await client.auth.updateUser({ data: { studio: "Letterpress" } });
  const claims = await client.auth.getClaims();
  const sent = await client.functions.invoke("send-submission", {
    body: { description: "A newsletter, signed in" },
  });
  const refused = await client.functions.invoke("send-submission", { body: { description: " " } });
  const unknown = await client.functions.invoke("no-such-function", { body: {} });
  const signedOut = await client.auth.signOut();
  const user = await client.auth.getUser();
  const reused = await client.auth.refreshSession({
    refresh_token: refreshed.data.session?.refresh_token ?? "",
  });

  return {
    "sign-up waits for the mailed link":
      signedUp.error === null &&
      signedUp.data.session === null &&
      signedUp.data.user?.email === address,
    "sign-in before the link": early.error?.code,
    "sign-in with a wrong password": wrong.error?.code,
    "sign-in": signedIn.error === null && signedIn.data.user?.email_confirmed_at !== undefined,
    "refresh gives other tokens":
      refreshed.error === null &&
      refreshed.data.session?.refresh_token !== signedIn.data.session?.refresh_token,
    "update keeps and adds": [
      updated.data.user?.user_metadata.name,
      updated.data.user?.user_metadata.studio,
    ],
    "the token's claims": [claims.data?.claims.email === address, claims.data?.claims.role],
    "a submission": [sent.error, typeof sent.data],
    "a refused submission": [
      refused.error?.name,
      refused.error?.context.status,
      JSON.stringify(await refused.error?.context.json()).includes("Details are required"),
    ],
    "an unknown function": [unknown.error?.name, unknown.error?.context.status],
    "sign-out": signedOut.error,
    "no user is signed in afterwards": [user.data.user, user.error?.name],
    "the ended session cannot be refreshed": reused.error?.code,
    "events seen": events.filter((event, place) => event !== events[place - 1]),
  };
}

/** The expected results of `walk`. */
export const EXPECTED = {
  "sign-up waits for the mailed link": true,
  "sign-in before the link": "email_not_confirmed",
  "sign-in with a wrong password": "invalid_credentials",
  "sign-in": true,
  "refresh gives other tokens": true,
  "update keeps and adds": ["Ada", "Letterpress"],
  "the token's claims": [true, "authenticated"],
  "a submission": [null, "object"],
  "a refused submission": ["FunctionsHttpError", 400, true],
  "an unknown function": ["FunctionsHttpError", 404],
  "sign-out": null,
  "no user is signed in afterwards": [null, "AuthSessionMissingError"],
  "the ended session cannot be refreshed": "refresh_token_not_found",
  "events seen": ["INITIAL_SESSION", "SIGNED_IN", "TOKEN_REFRESHED", "USER_UPDATED", "SIGNED_OUT"],
};
