import { supportsPasskeys } from "./webauthn.ts";

/** Whether this page can use passkeys, and otherwise what stands in the way. */
export type PasskeyOffer =
  | { state: "possible" }
  /** The browser has no passkeys, or none at an address without HTTPS. */
  | { state: "unsupported" }
  /** The desk has passkeys at another address. */
  | { state: "elsewhere"; url: string }
  /** No address of the desk can have passkeys. */
  | { state: "none" };

interface OfferAnswer {
  passkeys: boolean;
  passkey_origins?: string[] | undefined;
  passkey_url?: string | null | undefined;
}

/** Compares what the server offers with the address of the page, as a browser does. */
export function readOffer(
  { passkeys, passkey_origins: origins, passkey_url: url }: OfferAnswer,
  origin = location.origin,
  isSupported = supportsPasskeys(),
): PasskeyOffer {
  if (!passkeys) return { state: "none" };
  if (origins && !origins.includes(origin)) {
    return url ? { state: "elsewhere", url } : { state: "none" };
  }
  return isSupported ? { state: "possible" } : { state: "unsupported" };
}
