import * as v from "valibot";
import { send } from "../../shell/data/request.ts";
import { SessionSchema } from "../../shell/session/session.tsx";
import { type CredentialJson, RequestOptionsSchema } from "../../shell/session/webauthn.ts";

const TotpSchema = v.object({ secret: v.string(), uri: v.string(), qr_svg: v.string() });

const SetupSchema = v.object({ ticket: v.string(), totp: TotpSchema });

const PasswordSchema = v.variant("next", [
  v.object({ next: v.literal("totp"), ticket: v.string() }),
  v.object({ next: v.literal("enroll"), ticket: v.string(), totp: TotpSchema }),
]);

const PasskeySchema = v.object({ ticket: v.string(), options: RequestOptionsSchema });

/** A new TOTP secret, as text and as a picture. */
export type Totp = v.InferOutput<typeof TotpSchema>;

/** What follows the password: a code of the app, which a first sign-in sets up. */
export type NextStep = v.InferOutput<typeof PasswordSchema>;

interface PasswordCredentials {
  email: string;
  password: string;
}

/** Creates the owner with the token of the one-time link. */
export function createOwner(token: string, { email, password }: PasswordCredentials) {
  return send({ method: "POST", path: "/setup", body: { token, email, password } }, SetupSchema);
}

/** Chooses a new password with the token of the operator's link, and begins with a new app. */
export function resetOwner(token: string, password: string) {
  return send({ method: "POST", path: "/reset", body: { token, password } }, SetupSchema);
}

/** Confirms the TOTP factor of the new owner. */
export function confirmSetup(ticket: string, code: string) {
  return send({ method: "POST", path: "/setup/totp", body: { ticket, code } }, SessionSchema);
}

/** Begins a sign-in by password. */
export function signIn({ email, password }: PasswordCredentials) {
  return send({ method: "POST", path: "/sign-in", body: { email, password } }, PasswordSchema);
}

/** Completes it with a code. */
export function signInByCode(ticket: string, code: string) {
  return send({ method: "POST", path: "/sign-in/totp", body: { ticket, code } }, SessionSchema);
}

/** Begins a sign-in by passkey. */
export function requestPasskey() {
  return send({ method: "POST", path: "/sign-in/passkey/options", body: {} }, PasskeySchema);
}

/** Completes it with the credential of the browser. */
export function signInByPasskey(ticket: string, credential: CredentialJson) {
  const body = { ticket, credential };
  return send({ method: "POST", path: "/sign-in/passkey", body }, SessionSchema);
}

/** Uses a recovery code in place of the app, and begins with a new app. */
export function recover(ticket: string, code: string) {
  return send(
    { method: "POST", path: "/sign-in/recovery", body: { ticket, code } },
    PasswordSchema,
  );
}
