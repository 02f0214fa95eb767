import { createContext, type ReactNode, useCallback, useContext, useEffect, useState } from "react";
import * as v from "valibot";
import { setCsrfToken } from "../data/csrf.ts";
import type { Failure } from "../data/failure.ts";
import { forgetEntries } from "../data/query-cache.ts";
import { API, Nothing, onSignedOut, readFailure, send } from "../data/request.ts";
import { type PasskeyOffer, readOffer } from "./passkey-offer.ts";
import type { PasswordRule } from "./password-rule.ts";

const PASSKEY_OFFER = {
  /** Whether the desk has passkeys. */
  passkeys: v.optional(v.boolean(), true),
  /** The origins of pages that can use them. */
  passkey_origins: v.optional(v.array(v.string())),
  /** The address of the desk at which they work. */
  passkey_url: v.nullish(v.string()),
};

export const SessionSchema = v.object({
  user: v.object({ id: v.string(), email: v.string() }),
  csrf_token: v.string(),
  expires_at: v.string(),
  shop_name: v.string(),
  ...PASSKEY_OFFER,
  factors: v.array(v.object({ id: v.string(), type: v.string(), name: v.nullish(v.string()) })),
});

export type Session = v.InferOutput<typeof SessionSchema>;

/** The longest wait for the answer, in milliseconds. */
const TIME_LIMIT = 20_000;

const MissingSchema = v.object({
  setup: v.optional(v.boolean(), false),
  password_min_length: v.optional(v.number()),
  password_kinds: v.optional(
    v.array(v.object({ kind: v.string(), characters: v.optional(v.string()) })),
  ),
  password_is_looked_up: v.optional(v.boolean()),
  ...PASSKEY_OFFER,
});

/** Whether a user is signed in, as far as it is known. */
export type SessionState =
  | { state: "loading" }
  | { state: "failed"; failure: Failure }
  | {
      state: "signed-out";
      needsSetup: boolean;
      passkeys: PasskeyOffer;
      passwordRule?: PasswordRule | undefined;
    }
  | { state: "signed-in"; session: Session };

interface SessionControl {
  current: SessionState;
  /** Begins a session that a sign-in returned. */
  enter: (session: Session) => void;
  /** Asks the server again. */
  reload: () => void;
  /** Ends the session at the server; returns the failure, if there is one. */
  signOut: () => Promise<Failure | undefined>;
}

const SessionContext = createContext<SessionControl | undefined>(undefined);

/** Keeps the session: asks the server at the beginning and follows its end. */
export function SessionProvider({ children }: { children: ReactNode }) {
  const [current, setCurrent] = useState<SessionState>({ state: "loading" });

  const enter = useCallback((session: Session) => {
    setCsrfToken(session.csrf_token);
    setCurrent({ state: "signed-in", session });
  }, []);

  const leave = useCallback(() => {
    setCsrfToken(undefined);
    forgetEntries();
    setCurrent((last) => {
      const passkeys = readOffer(last.state === "signed-in" ? last.session : { passkeys: true });
      return { state: "signed-out", needsSetup: false, passkeys };
    });
  }, []);

  const reload = useCallback(() => {
    setCurrent({ state: "loading" });
    void loadSession().then((found) => {
      if (found.state === "signed-in") enter(found.session);
      else setCurrent(found);
    });
  }, [enter]);

  async function signOut(): Promise<Failure | undefined> {
    const ended = await send({ method: "DELETE", path: "/session" }, Nothing);
    if (!ended.ok && ended.error.kind !== "signed-out") return ended.error;
    leave();
    return undefined;
  }

  useEffect(reload, [reload]);
  useEffect(() => onSignedOut(leave), [leave]);
  return <SessionContext value={{ current, enter, reload, signOut }}>{children}</SessionContext>;
}

/** Returns the session and its actions. */
export function useSessionControl(): SessionControl {
  const control = useContext(SessionContext);
  if (!control) throw new Error("useSessionControl is used outside of SessionProvider");
  return control;
}

/** Returns the session of screens that only a signed-in user sees. */
export function useSession(): Session {
  const { current } = useSessionControl();
  if (current.state !== "signed-in") throw new Error("this screen needs a session");
  return current.session;
}

/** Asks for the session. A missing one is no failure, and its answer says whether an owner exists. */
async function loadSession(): Promise<SessionState> {
  try {
    const signal = AbortSignal.timeout(TIME_LIMIT);
    const response = await fetch(`${API}/session`, { cache: "no-store", signal });
    if (!response.ok && response.status !== 401) {
      return { state: "failed", failure: await readFailure(response) };
    }
    const content: unknown = await response.json();
    if (response.status === 401) {
      const missing = v.parse(MissingSchema, content);
      return {
        state: "signed-out",
        needsSetup: missing.setup,
        passkeys: readOffer(missing),
        passwordRule: {
          minLength: missing.password_min_length,
          kinds: missing.password_kinds,
          isLookedUp: missing.password_is_looked_up,
        },
      };
    }
    return { state: "signed-in", session: v.parse(SessionSchema, content) };
  } catch (cause) {
    console.error("The session could not be loaded:", cause);
    const failure: Failure = { kind: "offline", code: "no_answer", message: "No answer." };
    return { state: "failed", failure };
  }
}
