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

const AccountSchema = v.object({
  sessions: v.array(
    v.object({
      id: v.string(),
      is_current: v.boolean(),
      method: v.string(),
      created_at: v.string(),
      last_used_at: v.string(),
      user_agent: v.nullish(v.string()),
    }),
  ),
  owners: v.array(
    v.object({
      id: v.string(),
      email: v.nullish(v.string()),
      is_you: v.boolean(),
      last_sign_in_at: v.nullish(v.string()),
    }),
  ),
});

const TotpSchema = v.object({ secret: v.string(), uri: v.string(), qr_svg: v.string() });

type Account = v.InferOutput<typeof AccountSchema>;
export type DeskSession = Account["sessions"][number];
export type OtherOwner = Account["owners"][number];

export function loadAccount() {
  return send({ path: "/account" }, AccountSchema);
}

const ActivitySchema = v.object({
  events: v.array(
    v.object({
      id: v.number(),
      at: v.string(),
      email: v.nullish(v.string()),
      action: v.string(),
      subject: v.nullish(v.string()),
      address: v.nullish(v.string()),
    }),
  ),
  has_more: v.boolean(),
});

export type DeskEvent = v.InferOutput<typeof ActivitySchema>["events"][number];

/** Loads what was done at the desk, the latest first; `before` is the id of the last known event. */
export function loadActivity(before?: number) {
  const query = before === undefined ? "" : `?before=${before}`;
  return send({ path: `/account/activity${query}` }, ActivitySchema);
}

export function changePassword(current_password: string, password: string) {
  const body = { current_password, password };
  return send({ method: "POST", path: "/account/password", body }, Nothing);
}

export function changeEmail(current_password: string, email: string) {
  const body = { current_password, email };
  return send({ method: "POST", path: "/account/email", body }, v.object({ email: v.string() }));
}

export function beginAuthenticator(current_password: string) {
  const schema = v.object({ ticket: v.string(), totp: TotpSchema });
  return send(
    { method: "POST", path: "/account/authenticator", body: { current_password } },
    schema,
  );
}

export function confirmAuthenticator(ticket: string, code: string) {
  const body = { ticket, code };
  return send({ method: "POST", path: "/account/authenticator/confirm", body }, Nothing);
}

export function endOtherSessions() {
  return send({ method: "DELETE", path: "/account/sessions" }, Nothing);
}

export function addOwner(current_password: string, email: string) {
  const body = { current_password, email };
  return send({ method: "POST", path: "/account/owners", body }, v.object({ token: v.string() }));
}

export function removeOwner(current_password: string, id: string) {
  const body = { current_password };
  return send({ method: "DELETE", path: `/account/owners/${id}`, body }, Nothing);
}
