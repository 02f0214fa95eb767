import * as v from "valibot";
import type { Result } from "../../../src/shared/result.ts";
import type { Failure } from "../data/failure.ts";
import { send } from "../data/request.ts";
import { CreationOptionsSchema, createPasskey } from "./webauthn.ts";

const OptionsSchema = v.object({ ticket: v.string(), options: CreationOptionsSchema });

const CreatedSchema = v.object({ id: v.string(), name: v.nullish(v.string()) });

/** Creates a passkey in the browser and adds it to the signed-in user. */
export async function addPasskey(name: string): Promise<Result<{ id: string }, Failure>> {
  const begun = await send({ method: "POST", path: "/passkeys/options", body: {} }, OptionsSchema);
  if (!begun.ok) return begun;
  const created = await createPasskey(begun.value.options);
  if (!created.ok) return created;
  const body = { ticket: begun.value.ticket, credential: created.value, name };
  return send({ method: "POST", path: "/passkeys", body }, CreatedSchema);
}

/** Suggests a name for a passkey of this device, from the user agent. */
export function suggestPasskeyName(userAgent = navigator.userAgent): string {
  const known = ["iPhone", "iPad", "Android", "Macintosh", "Windows", "Linux"];
  const device = known.find((name) => userAgent.includes(name));
  return device === "Macintosh" ? "Mac" : (device ?? "This device");
}
