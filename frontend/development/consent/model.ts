import type { Failure } from "./api.ts";

/** Schemes of addresses that would run or show something in this page. */
const UNSAFE_SCHEMES = ["javascript:", "data:", "file:", "vbscript:", "about:", "blob:"];

const SCOPE_DESCRIPTIONS: ReadonlyMap<string, string> = new Map([
  ["openid", "to know which account here is yours"],
  ["email", "your e-mail address"],
  ["phone", "your phone number"],
  ["profile", "your name and your picture"],
  ["offline_access", "to stay signed in as you while you are away"],
]);

const ERROR_MESSAGES: ReadonlyMap<string, string> = new Map([
  ["invalid_credentials", "This address and this password do not belong together. Check both."],
  [
    "email_not_confirmed",
    "This address is not confirmed yet. Follow the link in the mail that we sent to it, then sign in here.",
  ],
  ["user_banned", "This account is blocked. Ask the administrator of this server."],
  ["otp_expired", "This code is wrong or too old. Check it, or go back and have a new one mailed."],
  ["otp_disabled", "No code was sent. Check the address: there may be no account for it."],
  ["email_provider_disabled", "Addresses and passwords cannot be used on this server."],
  [
    "captcha_failed",
    "This server wants a captcha, which this page does not have. It needs a page of its own.",
  ],
  ["over_request_rate_limit", "Too many attempts. Wait a few minutes, then try again."],
  [
    "over_email_send_rate_limit",
    "A mail was sent there a moment ago. Wait a minute, then try again.",
  ],
]);

/** Returns the message to the user for a failed request. */
export function errorMessage({ status, code, message }: Failure): string {
  const known = code === undefined ? undefined : ERROR_MESSAGES.get(code);
  if (known) return known;
  if (status === 0) return "The server does not answer. Check the connection, then try again.";
  if (status >= 500) return "Something broke on the server. Try again; its log says more.";
  return `The server refused: ${message ?? status}. Check what you wrote, then try again.`;
}

/** What the page shows in place of a request that it cannot show. */
export interface RequestProblem {
  title: string;
  text: string;
  /** Whether a second attempt can succeed. */
  canRetry: boolean;
}

/** The page was opened without an authorization request. */
export const NO_REQUEST: RequestProblem = {
  title: "Nothing is asked here",
  text: "Go back to the app and begin to sign in there.",
  canRetry: false,
};

/** The redirect URI of the app has an unsafe scheme. */
export const UNSAFE_REDIRECT: RequestProblem = {
  title: "This app cannot be gone back to",
  text: "It is registered with an address that is not safe to open.",
  canRetry: false,
};

/** Returns the problem of a request that the server does not show, or whose answer it refuses. */
export function requestProblem(failure: Failure): RequestProblem {
  if (failure.status === 404) {
    return {
      title: "This request is over",
      text: "It is too old, was answered already, or belongs to another user. Go back to the app and begin to sign in again.",
      canRetry: false,
    };
  }
  if (failure.status === 400) {
    return {
      title: "This request was answered already",
      text: "Go back to the app and begin to sign in again.",
      canRetry: false,
    };
  }
  return { title: "That did not work", text: errorMessage(failure), canRetry: true };
}

/** Returns whether the session has to be renewed or the user has to sign in. */
export function isUnauthenticated({ status }: Failure): boolean {
  return status === 401 || status === 403;
}

/** Returns what an app gets by each scope of a space-separated list; unknown scopes by their name. */
export function scopeDescriptions(scope: string): string[] {
  return scope.split(" ").map((name) => SCOPE_DESCRIPTIONS.get(name) ?? name);
}

/** Returns how a redirect URI is shown: the origin of a web address, any other URI in full. */
export function displayedTarget(redirectUri: string): string {
  const target = URL.canParse(redirectUri) ? new URL(redirectUri) : undefined;
  const isWeb = target?.protocol === "https:" || target?.protocol === "http:";
  return target && isWeb ? target.origin : redirectUri;
}

/** Returns the address to which the browser may be sent, or `undefined` for an unsafe one. */
export function safeRedirect(address: string): URL | undefined {
  const target = URL.canParse(address) ? new URL(address) : undefined;
  return target && !UNSAFE_SCHEMES.includes(target.protocol) ? target : undefined;
}
