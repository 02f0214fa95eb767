/**
 * What a browser sends for passkeys: the JSON types of WebAuthn Level 3 (§5.1.8, §5.2), which `lib.dom.d.ts` of some releases
 * of TypeScript lacks.
 */

/** How a client reaches an authenticator. */
export type AuthenticatorTransportName =
  | "ble"
  | "cable"
  | "hybrid"
  | "internal"
  | "nfc"
  | "smart-card"
  | "usb";

interface PublicKeyCredentialJSON<Response> {
  /** Base64url, as all binary members. */
  id: string;
  rawId: string;
  type: "public-key";
  authenticatorAttachment?: "cross-platform" | "platform";
  clientExtensionResults: Record<string, never>;
  response: Response;
}

/** The result of `navigator.credentials.create()`. */
export type RegistrationResponseJSON = PublicKeyCredentialJSON<{
  clientDataJSON: string;
  attestationObject: string;
  transports?: AuthenticatorTransportName[];
}>;

/** The result of `navigator.credentials.get()`. */
export type AuthenticationResponseJSON = PublicKeyCredentialJSON<{
  clientDataJSON: string;
  authenticatorData: string;
  signature: string;
  userHandle?: string;
}>;
