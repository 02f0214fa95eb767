import * as v from "valibot";
import { Nothing, send } from "../../shell/data/request.ts";

const PasskeySchema = v.object({
  id: v.string(),
  name: v.nullish(v.string(), ""),
  created_at: v.nullish(v.string()),
  last_used_at: v.nullish(v.string()),
});

const PasskeysSchema = v.object({ passkeys: v.array(PasskeySchema) });

export type Passkey = v.InferOutput<typeof PasskeySchema>;

export function loadPasskeys() {
  return send({ path: "/passkeys" }, PasskeysSchema);
}

export function deletePasskey(id: string) {
  return send({ method: "DELETE", path: `/passkeys/${id}` }, Nothing);
}
