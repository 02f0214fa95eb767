import { useState } from "react";
import { setCsrfToken } from "../../shell/data/csrf.ts";
import { useAction } from "../../shell/data/use-action.ts";
import { readOffer } from "../../shell/session/passkey-offer.ts";
import type { PasswordRule } from "../../shell/session/password-rule.ts";
import type { Session } from "../../shell/session/session.tsx";
import { TotpSecret } from "../../shell/session/totp-secret.tsx";
import { AccessLayout } from "./access-layout.tsx";
import { confirmSetup, createOwner, resetOwner, type Totp } from "./api.ts";
import { CodeForm } from "./code-form.tsx";
import { CredentialsForm } from "./credentials-form.tsx";
import { PasskeyOffer } from "./passkey-offer.tsx";
import { RecoveryCodesStep } from "./recovery-codes-step.tsx";

type Step =
  | { step: "credentials" }
  | { step: "totp"; ticket: string; totp: Totp }
  | { step: "codes"; session: Session }
  | { step: "passkey"; session: Session };

type LinkKind = "setup" | "invite" | "reset";

/** The first words for whoever opens a link. */
const WELCOME: Record<LinkKind, { title: string; introduction: string }> = {
  setup: {
    title: "Set up the desk",
    introduction: "You are the owner of this shop. Choose how you sign in.",
  },
  invite: {
    title: "Welcome to the desk",
    introduction:
      "You are now an owner of this shop. Choose a password, then connect an authenticator app.",
  },
  reset: {
    title: "Choose a new password",
    introduction:
      "Then you connect a new authenticator app. Passkeys, recovery codes and sessions from before end.",
  },
};

interface SetupPageProps {
  /** The one-time link: of the first owner, of one whom another added, or of one who cannot sign in. */
  link: { kind: LinkKind; token: string };
  /** What a password needs. */
  passwordRule: PasswordRule | undefined;
  onDone: (session: Session) => void;
  /** Leaves the setup for the sign-in. */
  onLeave: () => void;
}

/** The first visit of the owner: password, authenticator app, recovery codes, passkey. */
export function SetupPage({ link, passwordRule, onDone, onLeave }: SetupPageProps) {
  const [current, setCurrent] = useState<Step>({ step: "credentials" });
  const isFirstOwner = link.kind === "setup";
  const creation = useAction(begin, (created) => setCurrent({ step: "totp", ...created }));
  const confirmation = useAction(confirmSetup, (session) => {
    setCsrfToken(session.csrf_token);
    setCurrent({ step: "codes", session });
  });

  switch (current.step) {
    case "credentials":
      return (
        <AccessLayout
          step="Step 1"
          title={WELCOME[link.kind].title}
          introduction={WELCOME[link.kind].introduction}
        >
          <CredentialsForm
            submit="Continue"
            isNew
            hasEmail={isFirstOwner}
            passwordRule={passwordRule}
            isPending={creation.isPending}
            failure={creation.failure}
            onSubmit={(credentials) => void creation.run(link, credentials)}
          />
          <button
            type="button"
            onClick={onLeave}
            className="mt-4 min-h-8 text-small text-ink-soft underline underline-offset-4 hover:text-ink"
          >
            {isFirstOwner ? "The desk is already set up: sign in" : "Sign in instead"}
          </button>
        </AccessLayout>
      );
    case "totp":
      return (
        <AccessLayout
          key="totp"
          step="Step 2"
          title="Connect an authenticator app"
          introduction="Scan the code with an app such as 2FAS, Aegis or 1Password. The app shows six digits that you enter here, and at every sign-in by password."
          takesFocus
        >
          <TotpSecret totp={current.totp} />
          <CodeForm
            submit="Confirm"
            isPending={confirmation.isPending}
            failure={confirmation.failure}
            onSubmit={(code) => void confirmation.run(current.ticket, code)}
            onBack={() => setCurrent({ step: "credentials" })}
          />
        </AccessLayout>
      );
    case "codes": {
      const { session } = current;
      const hasPasskeys = readOffer(session).state === "possible";
      return (
        <RecoveryCodesStep
          session={session}
          onDone={() => (hasPasskeys ? setCurrent({ step: "passkey", session }) : onDone(session))}
        />
      );
    }
    case "passkey":
      return <PasskeyOffer onDone={() => onDone(current.session)} />;
  }
}

function begin(
  { kind, token }: SetupPageProps["link"],
  credentials: { email: string; password: string },
) {
  return kind === "setup"
    ? createOwner(token, credentials)
    : resetOwner(token, credentials.password);
}
