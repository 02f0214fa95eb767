import { useState } from "react";
import { setCsrfToken } from "../../shell/data/csrf.ts";
import { useAction } from "../../shell/data/use-action.ts";
import { readOffer } from "../../shell/session/passkey-offer.ts";
import type { Session } from "../../shell/session/session.tsx";
import { AccessLayout } from "./access-layout.tsx";
import { confirmSetup, createOwner, type Totp } from "./api.ts";
import { CodeForm } from "./code-form.tsx";
import { CredentialsForm } from "./credentials-form.tsx";
import { PasskeyOffer } from "./passkey-offer.tsx";
import { RecoveryCodesStep } from "./recovery-codes-step.tsx";
import { TotpSecret } from "./totp-secret.tsx";

type Step =
  | { step: "credentials" }
  | { step: "totp"; ticket: string; totp: Totp }
  | { step: "codes"; session: Session }
  | { step: "passkey"; session: Session };

interface SetupPageProps {
  /** The token of the one-time link. */
  token: string;
  onDone: (session: Session) => void;
  /** Leaves the setup for the sign-in. */
  onLeave: () => void;
}

/** The first visit of the owner: password, authenticator app, recovery codes, passkey. */
export function SetupPage({ token, onDone, onLeave }: SetupPageProps) {
  const [current, setCurrent] = useState<Step>({ step: "credentials" });
  const creation = useAction(createOwner, (created) => setCurrent({ step: "totp", ...created }));
  const confirmation = useAction(confirmSetup, (session) => {
    setCsrfToken(session.csrf_token);
    setCurrent({ step: "codes", session });
  });

  switch (current.step) {
    case "credentials":
      return (
        <AccessLayout
          step="Step 1"
          title="Set up the desk"
          introduction="You are the owner of this shop. Choose how you sign in."
        >
          <CredentialsForm
            submit="Continue"
            isNew
            isPending={creation.isPending}
            failure={creation.failure}
            onSubmit={(credentials) => void creation.run(token, credentials)}
          />
          <button
            type="button"
            onClick={onLeave}
            className="mt-4 min-h-8 text-small text-ink-soft underline underline-offset-4 hover:text-ink"
          >
            The desk is already set up: sign in
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
