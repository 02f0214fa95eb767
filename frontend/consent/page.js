// Signs somebody in, shows what an app asks of them, and takes the answer back to the app. Tokens stay in this tab.

/**
 * @typedef {{ access_token: string, refresh_token: string, expires_at: number }} Session
 * @typedef {{ redirect_uri: string, client: { name?: string }, user: { id: string, email?: string }, scope: string }} Asked
 * @typedef {{ status: number, said: any }} Answer  status 0: there was none
 */

const API = "/auth/v1";
const KEPT = "basalt.consent.session";
/** A click is not meant for this page when it has only just come into view. */
const SETTLING_MS = 500;
const SCREENS = ["waiting", "sign-in", "mailed", "question", "leaving", "failed"];
/** Schemes that would run or show something here. */
const DANGEROUS = ["javascript:", "data:", "file:", "vbscript:", "about:", "blob:"];

const SCOPES = new Map([
  ["openid", "to know which account here is yours"],
  ["email", "your e-mail address"],
  ["phone", "your phone number"],
  ["profile", "your name and your picture"],
  ["offline_access", "to stay signed in as you while you are away"],
]);

/** What to tell of an error, by its code. */
const WORDS = new Map([
  ["invalid_credentials", "This address and this password do not belong together. Check both."],
  [
    "email_not_confirmed",
    "This address is not confirmed yet. Follow the link in the mail that we sent to it, then sign in here.",
  ],
  ["user_banned", "This account is blocked. Ask whoever runs this server."],
  ["otp_expired", "This code is wrong or too old. Check it, or go back and have a new one mailed."],
  ["otp_disabled", "No code was sent. Check the address: there may be no account for it."],
  ["email_provider_disabled", "Addresses and passwords cannot be used on this server."],
  [
    "captcha_failed",
    "This server wants a captcha, which this page does not have. It needs a page of its own.",
  ],
  ["over_request_rate_limit", "Too many attempts. Wait a few minutes, then try again."],
  ["over_email_send_rate_limit", "A mail went there only just now. Wait a minute, then try again."],
]);

const id = new URLSearchParams(location.search).get("authorization_id") ?? "";
const key = document.querySelector("meta[name=publishable-key]")?.getAttribute("content") ?? "";
let inView = performance.now();

/** @param {string} name */
function element(name) {
  const found = document.getElementById(name);
  if (!found) throw new Error(`the page has no #${name}`);
  return found;
}

/** @param {string} name */
function field(name) {
  return /** @type {HTMLInputElement} */ (element(name));
}

/**
 * Asks the server; with a session on its behalf.
 *
 * @param {string} path
 * @param {{ body?: object, session?: Session | null }} [more] with a body by POST
 * @returns {Promise<Answer>}
 */
async function call(path, { body, session } = {}) {
  const headers = new Headers({ apikey: key });
  if (session) headers.set("authorization", `Bearer ${session.access_token}`);
  /** @type {RequestInit} */
  const how = { headers, cache: "no-store", credentials: "omit", redirect: "error" };
  if (body) {
    headers.set("content-type", "application/json");
    Object.assign(how, { method: "POST", body: JSON.stringify(body) });
  }
  try {
    const answer = await fetch(API + path, how);
    const text = await answer.text();
    return { status: answer.status, said: text ? JSON.parse(text) : {} };
  } catch {
    return { status: 0, said: {} };
  }
}

/** @param {Answer} answer */
function wordsFor({ status, said }) {
  const known = WORDS.get(said.error_code ?? said.code);
  if (known) return known;
  if (status === 0) return "The server does not answer. Check the connection, then try again.";
  if (status >= 500) return "Something broke on the server. Try again; its log says more.";
  return `The server refused: ${said.msg ?? said.message ?? status}. Check what you wrote, then try again.`;
}

/** Shows one screen, and takes those along who hear the page. @param {string} name */
function show(name) {
  for (const screen of SCREENS) element(screen).hidden = screen !== name;
  for (const place of document.querySelectorAll(".error")) place.textContent = "";
  const heading = element(name).querySelector("h1");
  document.title = heading?.textContent?.replace(/\s+/g, " ").trim() ?? "";
  heading?.focus();
  inView = performance.now();
}

/** @param {string} title @param {string} text @param {boolean} again whether trying again can help */
function fail(title, text, again) {
  element("failed-title").textContent = title;
  element("failed-text").textContent = text;
  element("again").hidden = !again;
  show("failed");
}

/** Tells at a form what is wrong. @param {string} form @param {string} text @param {string[]} [fields] which are */
function complain(form, text, fields = []) {
  element(`${form}-error`).textContent = text;
  for (const input of document.querySelectorAll("input")) {
    input.setAttribute("aria-invalid", String(fields.includes(input.id)));
  }
  if (fields[0]) field(fields[0]).focus();
}

/** @returns {Session | null} */
function kept() {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT) ?? "null");
  } catch {
    return null;
  }
}

/** @param {Session | null} session */
function keep(session) {
  if (session) {
    const { access_token, refresh_token, expires_at } = session;
    sessionStorage.setItem(KEPT, JSON.stringify({ access_token, refresh_token, expires_at }));
  } else {
    sessionStorage.removeItem(KEPT);
  }
}

/** The session of this tab, renewed where it is over. */
async function session() {
  const session = kept();
  if (!session || session.expires_at * 1000 > Date.now() + 10_000) return session;
  const body = { refresh_token: session.refresh_token };
  const { status, said } = await call("/token?grant_type=refresh_token", { body });
  keep(status === 200 ? said : null);
  return kept();
}

/** Asks what is asked; or goes on, for who has allowed as much before. */
async function begin() {
  if (!id) {
    fail("Nothing is asked here", "Go back to the app and begin to sign in there.", false);
    return;
  }
  const mine = await session();
  if (!mine) {
    show("sign-in");
    return;
  }
  const answer = await call(`/oauth/authorizations/${encodeURIComponent(id)}`, { session: mine });
  if (answer.status === 200) {
    if (answer.said.redirect_url) leave(answer.said.redirect_url);
    else ask(answer.said);
  } else if (answer.status === 401 || answer.status === 403) {
    keep(null);
    show("sign-in");
    complain("sign-in", "You are not signed in any more. Sign in again.");
  } else {
    refuse(answer);
  }
}

/** The request cannot be shown or answered. @param {Answer} answer */
function refuse(answer) {
  if (answer.status === 404) {
    fail(
      "This request is over",
      "It is too old, was answered already, or belongs to somebody else. Go back to the app and begin to sign in again.",
      false,
    );
  } else if (answer.status === 400) {
    fail(
      "This request was answered already",
      "Go back to the app and begin to sign in again.",
      false,
    );
  } else {
    fail("That did not work", wordsFor(answer), true);
  }
}

/** @param {Asked} asked */
function ask({ redirect_uri, client, user, scope }) {
  element("client").textContent = client.name || "an app without a name";
  element("who").textContent = user.email || user.id;
  const target = URL.canParse(redirect_uri) ? new URL(redirect_uri) : null;
  const isWeb = target?.protocol === "https:" || target?.protocol === "http:";
  element("target").textContent = target && isWeb ? target.origin : redirect_uri;
  const rows = scope.split(" ").map((name) => {
    const row = document.createElement("li");
    row.textContent = SCOPES.get(name) ?? name;
    return row;
  });
  element("scopes").replaceChildren(...rows);
  show("question");
}

/** Takes the answer, and goes where the server says. @param {"approve" | "deny"} action */
async function answer(action) {
  const path = `/oauth/authorizations/${encodeURIComponent(id)}/consent`;
  const answer = await call(path, { body: { action }, session: await session() });
  if (answer.status === 200) leave(answer.said.redirect_url);
  else if (answer.status === 401 || answer.status === 403) await begin();
  else if (answer.status === 400 || answer.status === 404) refuse(answer);
  else complain("question", wordsFor(answer));
}

/** Back to the app; this page has done its part, and the way back leads before it. @param {string} address */
function leave(address) {
  const target = URL.canParse(address) ? new URL(address) : null;
  if (!target || DANGEROUS.includes(target.protocol)) {
    fail(
      "This app cannot be gone back to",
      "It is registered with an address that is not safe to open.",
      false,
    );
    return;
  }
  element("onward").setAttribute("href", target.href);
  show("leaving");
  location.replace(target.href);
}

/** @param {Answer} answer @param {string} form @param {string[]} fields to look at when it is refused */
async function signedIn(answer, form, fields) {
  if (answer.status === 200 && answer.said.access_token) {
    keep(answer.said);
    field("password").value = "";
    field("code").value = "";
    await begin();
  } else {
    complain(form, wordsFor(answer), fields);
  }
}

async function byPassword() {
  const [email, password] = [field("email").value.trim(), field("password").value];
  if (!email) return complain("sign-in", "Write your e-mail address.", ["email"]);
  if (!password)
    return complain("sign-in", "Write your password, or have a code mailed.", ["password"]);
  const answer = await call("/token?grant_type=password", { body: { email, password } });
  await signedIn(answer, "sign-in", ["password", "email"]);
}

async function mailCode() {
  const email = field("email").value.trim();
  if (!email)
    return complain("sign-in", "Write the e-mail address that the code goes to.", ["email"]);
  const answer = await call("/otp", { body: { email, create_user: false } });
  if (answer.status !== 200) return complain("sign-in", wordsFor(answer), ["email"]);
  element("mailed-to").textContent = email;
  show("mailed");
}

async function byCode() {
  const token = field("code").value.replace(/\s/g, "");
  if (!token) return complain("code", "Write the code from the mail.", ["code"]);
  const body = { type: "email", email: field("email").value.trim(), token };
  await signedIn(await call("/verify", { body }), "code", ["code"]);
}

async function notMe() {
  await call("/logout?scope=local", { body: {}, session: kept() });
  keep(null);
  show("sign-in");
}

/** One thing at a time, said aloud while it takes. @param {() => Promise<void>} work */
async function once(work) {
  const main = document.querySelector("main");
  if (main?.ariaBusy === "true") return;
  main?.setAttribute("aria-busy", "true");
  element("busy").textContent = "Just a moment…";
  try {
    await work();
  } finally {
    main?.setAttribute("aria-busy", "false");
    element("busy").textContent = "";
  }
}

/** @param {string} name @param {() => Promise<void>} work */
function onClick(name, work) {
  element(name).addEventListener("click", () => once(work));
}

/** @param {string} name @param {() => Promise<void>} work */
function onSubmit(name, work) {
  element(name).addEventListener("submit", (event) => {
    event.preventDefault();
    once(work);
  });
}

/** Not for the second click of two, when another window stood before this one at the first. @param {"approve" | "deny"} action */
function onAnswer(action) {
  element(action).addEventListener("click", () => {
    if (performance.now() - inView > SETTLING_MS) once(() => answer(action));
  });
}

function seen() {
  inView = performance.now();
}

window.addEventListener("focus", seen);
document.addEventListener("visibilitychange", seen);
onSubmit("sign-in-form", byPassword);
onSubmit("code-form", byCode);
onClick("mail-code", mailCode);
onClick("other-way", async () => show("sign-in"));
onClick("not-you", notMe);
onClick("again", begin);
onAnswer("approve");
onAnswer("deny");
once(begin);
