import * as v from "valibot";
import { Nothing, send } from "../data/request.ts";

const CountSchema = v.object({ left: v.number(), are_unconfirmed: v.boolean() });

const CodesSchema = v.object({ codes: v.array(v.string()), made_at: v.string() });

/** How many codes can be used, and whether the owner has not said yet that they were kept. */
export type RecoveryCodes = v.InferOutput<typeof CountSchema>;

/** New codes, and when they were made. */
export type MadeCodes = v.InferOutput<typeof CodesSchema>;

export function loadRecoveryCodes() {
  return send({ path: "/account/recovery-codes" }, CountSchema);
}

/** Makes new recovery codes, after which earlier ones are invalid. */
export function makeRecoveryCodes() {
  return send({ method: "POST", path: "/account/recovery-codes", body: {} }, CodesSchema);
}

/** Tells the server that these codes were kept; until then it asks for new ones. */
export function confirmRecoveryCodes({ made_at }: MadeCodes) {
  const body = { made_at };
  return send({ method: "POST", path: "/account/recovery-codes/kept", body }, Nothing);
}

/** Returns the content of the file with the codes. */
export function formatCodes(codes: readonly string[], shop: string, email: string): string {
  const head = [
    `Recovery codes of ${email} for the desk of ${shop}`,
    "Each code counts once. It replaces a lost authenticator app; the password is needed, too.",
  ];
  return `${head.join("\n")}\n\n${codes.join("\n")}\n`;
}
