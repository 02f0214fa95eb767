import { createHmac } from "node:crypto";
import type { Page } from "@playwright/test";

/** Returns the TOTP code of a secret, some steps of 30 s from now (RFC 6238). */
export function codeOf(secret: string, steps = 0): string {
  const bits = [...secret].map((letter) =>
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(letter).toString(2).padStart(5, "0"),
  );
  const bytes = bits.join("").match(/.{8}/g) ?? [];
  const key = Buffer.from(bytes.map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + steps));
  const hash = createHmac("sha1", key).update(counter).digest();
  const at = (hash.at(-1) ?? 0) & 15;
  return ((hash.readUInt32BE(at) & 0x7fff_ffff) % 1_000_000).toString().padStart(6, "0");
}

/** Adds a virtual authenticator that approves every request: a platform or a cross-platform one. */
export async function withAuthenticator(page: Page, transport: "internal" | "usb"): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send("WebAuthn.enable");
  await session.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport,
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
}
