import * as v from "valibot";
import type { Result } from "../../src/shared/result.ts";
import { BASE_PATH } from "../base-path.ts";
import { type Session, SessionSchema } from "./session.ts";

const AUTH_API = `${BASE_PATH}/auth/v1`;

/** A failed request. */
export interface Failure {
  /** HTTP status; 0 if there was no response, or one that cannot be read. */
  status: number;
  /** Error code of the auth API. */
  code?: string | undefined;
  /** Error text of the auth API. */
  message?: string | undefined;
}

/** Accepts any response. */
const AnySchema = v.unknown();

const ErrorSchema = v.object({
  error_code: v.optional(v.string()),
  code: v.optional(v.unknown()),
  msg: v.optional(v.string()),
  message: v.optional(v.string()),
});

const RedirectSchema = v.object({ redirect_url: v.string() });

const AuthorizationSchema = v.object({
  redirect_uri: v.string(),
  client: v.object({ name: v.optional(v.string(), "") }),
  user: v.object({ id: v.string(), email: v.optional(v.string(), "") }),
  scope: v.string(),
});

/** An authorization request that the user decides about. */
export type Authorization = v.InferOutput<typeof AuthorizationSchema>;

/** The redirect back to the app. */
type Redirect = v.InferOutput<typeof RedirectSchema>;

/** Decision of the user about an authorization request. */
export type Decision = "approve" | "deny";

/** A call to the auth API. */
interface Call<Schema extends v.GenericSchema> {
  path: string;
  /** Schema of the response. */
  schema: Schema;
  /** Sent by POST as JSON. */
  body?: object;
  session?: Session | null;
}

/** The part of the auth API that the page uses. */
export interface AuthApi {
  signInWithPassword(email: string, password: string): Promise<Result<Session, Failure>>;
  sendCode(email: string): Promise<Result<unknown, Failure>>;
  verifyCode(email: string, token: string): Promise<Result<Session, Failure>>;
  refreshSession(session: Session): Promise<Result<Session, Failure>>;
  signOut(session: Session | null): Promise<Result<unknown, Failure>>;
  /** Returns the request, or the redirect if the user has approved the same before. */
  getAuthorization(
    id: string,
    session: Session,
  ): Promise<Result<Authorization | Redirect, Failure>>;
  decide(id: string, action: Decision, session: Session | null): Promise<Result<Redirect, Failure>>;
}

/** Creates the client of the auth API at the origin of the page. */
export function createAuthApi(publishableKey: string): AuthApi {
  const send = <Schema extends v.GenericSchema>(call: Call<Schema>) =>
    sendCall(publishableKey, call);
  return {
    signInWithPassword: (email, password) =>
      send({
        path: "/token?grant_type=password",
        schema: SessionSchema,
        body: { email, password },
      }),
    sendCode: (email) =>
      send({ path: "/otp", schema: AnySchema, body: { email, create_user: false } }),
    verifyCode: (email, token) =>
      send({ path: "/verify", schema: SessionSchema, body: { type: "email", email, token } }),
    refreshSession: ({ refresh_token }) =>
      send({
        path: "/token?grant_type=refresh_token",
        schema: SessionSchema,
        body: { refresh_token },
      }),
    signOut: (session) =>
      send({ path: "/logout?scope=local", schema: AnySchema, body: {}, session }),
    getAuthorization: (id, session) =>
      send({
        path: authorizationPath(id),
        schema: v.union([RedirectSchema, AuthorizationSchema]),
        session,
      }),
    decide: (id, action, session) =>
      send({
        path: `${authorizationPath(id)}/consent`,
        schema: RedirectSchema,
        body: { action },
        session,
      }),
  };
}

function authorizationPath(id: string): string {
  return `/oauth/authorizations/${encodeURIComponent(id)}`;
}

async function sendCall<Schema extends v.GenericSchema>(
  publishableKey: string,
  { path, schema, body, session }: Call<Schema>,
): Promise<Result<v.InferOutput<Schema>, Failure>> {
  const headers = new Headers({ apikey: publishableKey });
  if (session) headers.set("authorization", `Bearer ${session.access_token}`);
  const request: RequestInit = {
    headers,
    cache: "no-store",
    credentials: "omit",
    redirect: "error",
  };
  if (body) {
    headers.set("content-type", "application/json");
    Object.assign(request, { method: "POST", body: JSON.stringify(body) });
  }
  try {
    const response = await fetch(AUTH_API + path, request);
    const text = await response.text();
    const content: unknown = text ? JSON.parse(text) : {};
    return response.ok
      ? { ok: true, value: v.parse(schema, content) }
      : { ok: false, error: parseFailure(response.status, content) };
  } catch {
    return { ok: false, error: { status: 0 } };
  }
}

function parseFailure(status: number, content: unknown): Failure {
  const error = v.safeParse(ErrorSchema, content);
  if (!error.success) return { status };
  const { error_code, code, msg, message } = error.output;
  const numberless = typeof code === "string" ? code : undefined;
  return { status, code: error_code ?? numberless, message: msg ?? message };
}
