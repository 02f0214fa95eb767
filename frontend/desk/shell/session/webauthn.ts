import * as v from "valibot";
import type { Result } from "../../../src/shared/result.ts";
import type { Failure } from "../data/failure.ts";

const Descriptors = v.optional(
  v.array(v.looseObject({ id: v.string(), type: v.literal("public-key") })),
);

/** `PublicKeyCredentialRequestOptionsJSON` (WebAuthn Level 3 §5.5), as far as it is decoded. */
export const RequestOptionsSchema = v.looseObject({
  challenge: v.string(),
  allowCredentials: Descriptors,
});

/** `PublicKeyCredentialCreationOptionsJSON` (WebAuthn Level 3 §5.4), as far as it is decoded. */
export const CreationOptionsSchema = v.looseObject({
  challenge: v.string(),
  user: v.looseObject({ id: v.string(), name: v.string(), displayName: v.string() }),
  excludeCredentials: Descriptors,
});

type RequestOptions = v.InferOutput<typeof RequestOptionsSchema>;
type CreationOptions = v.InferOutput<typeof CreationOptionsSchema>;

/** The JSON form of a credential, which the server verifies. */
export type CredentialJson = Record<string, unknown>;

/** Tells whether the browser supports passkeys. */
export function supportsPasskeys(): boolean {
  return typeof globalThis.PublicKeyCredential === "function" && "credentials" in navigator;
}

/** Asks the browser for a passkey of this site. */
export async function requestCredential(
  options: RequestOptions,
): Promise<Result<CredentialJson, Failure>> {
  const publicKey = {
    ...options,
    challenge: decode(options.challenge),
    allowCredentials: (options.allowCredentials ?? []).map(withId),
  } as unknown as PublicKeyCredentialRequestOptions;
  return answerOf(() => navigator.credentials.get({ publicKey }));
}

/** Asks the browser to create a passkey for this site. */
export async function createPasskey(
  options: CreationOptions,
): Promise<Result<CredentialJson, Failure>> {
  const publicKey = {
    ...options,
    challenge: decode(options.challenge),
    user: { ...options.user, id: decode(options.user.id) },
    excludeCredentials: (options.excludeCredentials ?? []).map(withId),
  } as unknown as PublicKeyCredentialCreationOptions;
  return answerOf(() => navigator.credentials.create({ publicKey }));
}

async function answerOf(
  ask: () => Promise<Credential | null>,
): Promise<Result<CredentialJson, Failure>> {
  try {
    const credential = await ask();
    if (credential instanceof PublicKeyCredential) return { ok: true, value: toJson(credential) };
    return { ok: false, error: passkeyFailure(undefined) };
  } catch (cause) {
    console.error("The browser returned no passkey:", cause);
    return { ok: false, error: passkeyFailure(cause) };
  }
}

/** Explains an error of `navigator.credentials` (WebAuthn Level 3 §5.1). */
export function passkeyFailure(cause: unknown): Failure {
  const name = cause instanceof Error ? cause.name : "";
  const failure = { kind: "refused", code: "passkey" } as const;
  if (name === "InvalidStateError") {
    return {
      ...failure,
      message: "This device already has a passkey for the desk.",
      hint: "Use another device, or remove the existing passkey first.",
    };
  }
  if (name === "SecurityError") {
    return {
      ...failure,
      message: "Passkeys do not work at this address.",
      hint: "Open the desk at the address of the shop, over HTTPS.",
    };
  }
  return {
    ...failure,
    message: "No passkey was used.",
    hint: "The request was cancelled or took too long. Try again, or use the password.",
  };
}

/** Returns the JSON form of a credential (WebAuthn Level 3 §5.1, `toJSON`), also in older browsers. */
function toJson(credential: PublicKeyCredential): CredentialJson {
  if (typeof credential.toJSON === "function") return { ...credential.toJSON() };
  const { response } = credential;
  const members: Record<string, string | string[]> = {
    clientDataJSON: encode(response.clientDataJSON),
  };
  if (response instanceof AuthenticatorAttestationResponse) {
    members.attestationObject = encode(response.attestationObject);
    members.transports = response.getTransports();
  }
  if (response instanceof AuthenticatorAssertionResponse) {
    members.authenticatorData = encode(response.authenticatorData);
    members.signature = encode(response.signature);
    if (response.userHandle) members.userHandle = encode(response.userHandle);
  }
  return {
    id: credential.id,
    rawId: encode(credential.rawId),
    type: credential.type,
    authenticatorAttachment: credential.authenticatorAttachment ?? undefined,
    clientExtensionResults: credential.getClientExtensionResults(),
    response: members,
  };
}

function withId<Descriptor extends { id: string }>(descriptor: Descriptor) {
  return { ...descriptor, id: decode(descriptor.id) };
}

/** Decodes base64url without padding (RFC 4648 §5). */
export function decode(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

/** Encodes base64url without padding (RFC 4648 §5). */
export function encode(bytes: ArrayBuffer | Uint8Array): string {
  const binary = Array.from(new Uint8Array(bytes), (byte) => String.fromCharCode(byte)).join("");
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}
