import * as v from "valibot";
import { send } from "../data/request.ts";

const CodesSchema = v.object({ codes: v.array(v.string()) });

/** Makes new recovery codes, after which earlier ones are invalid. */
export function makeRecoveryCodes() {
  return send({ method: "POST", path: "/account/recovery-codes", body: {} }, CodesSchema);
}

/** Returns the content of the file with the codes. */
export function formatCodes(codes: readonly string[], shop: string, email: string): string {
  const head = [
    `Recovery codes of ${email} for the desk of ${shop}`,
    "Each code counts once. It replaces a lost authenticator app; the password is needed, too.",
  ];
  return `${head.join("\n")}\n\n${codes.join("\n")}\n`;
}
