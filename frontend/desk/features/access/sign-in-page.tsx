import { KeyRound } from "lucide-react";
import { useState } from "react";
import type { Result } from "../../../src/shared/result.ts";
import type { Failure } from "../../shell/data/failure.ts";
import { useAction } from "../../shell/data/use-action.ts";
import type { PasskeyOffer } from "../../shell/session/passkey-offer.ts";
import type { Session } from "../../shell/session/session.tsx";
import { TotpSecret } from "../../shell/session/totp-secret.tsx";
import { requestCredential } from "../../shell/session/webauthn.ts";
import { Button } from "../../shell/ui/button.tsx";
import { FailureNotice } from "../../shell/ui/failure-notice.tsx";
import { AccessLayout } from "./access-layout.tsx";
import { type NextStep, requestPasskey, signIn, signInByCode, signInByPasskey } from "./api.ts";
import { CodeForm } from "./code-form.tsx";
import { CredentialsForm } from "./credentials-form.tsx";
import { RecoveryPage } from "./recovery-page.tsx";

interface SignInPageProps {
  /** Whether the shop has no owner yet. */
  needsSetup: boolean;
  passkeys: PasskeyOffer;
  onDone: (session: Session) => void;
}

/** The sign-in: a passkey, or password and code. */
export function SignInPage({ needsSetup, passkeys, onDone }: SignInPageProps) {
  const [next, setNext] = useState<NextStep>();
  const [isRecovering, setRecovering] = useState(false);
  const byPassword = useAction(signIn, setNext);
  const byCode = useAction(signInByCode, onDone);
  const byPasskey = useAction(runPasskey, onDone);

  if (needsSetup) return <SetupNeeded />;
  if (next?.next === "totp" && isRecovering) {
    return (
      <RecoveryPage
        ticket={next.ticket}
        onRecovered={(enrollment) => {
          setRecovering(false);
          setNext(enrollment);
        }}
        onBack={() => setRecovering(false)}
      />
    );
  }
  if (next) {
    const isEnrolling = next.next === "enroll";
    return (
      <AccessLayout
        key="code"
        title={isEnrolling ? "Connect an authenticator app" : "Enter the code"}
        introduction={
          isEnrolling
            ? "The desk needs a second step. Scan the code with an authenticator app and enter the six digits that it shows."
            : "Open the authenticator app and enter the six digits of the shop."
        }
        takesFocus
      >
        {isEnrolling && <TotpSecret totp={next.totp} />}
        <CodeForm
          submit="Sign in"
          isPending={byCode.isPending}
          failure={byCode.failure}
          onSubmit={(code) => void byCode.run(next.ticket, code)}
          onBack={() => {
            byCode.reset();
            setNext(undefined);
          }}
        />
        {!isEnrolling && (
          <button
            type="button"
            onClick={() => setRecovering(true)}
            className="mt-2 min-h-8 w-full text-small text-ink-soft underline underline-offset-4 hover:text-ink"
          >
            Authenticator app lost?
          </button>
        )}
      </AccessLayout>
    );
  }
  return (
    <AccessLayout title="Sign in to the desk">
      {passkeys.state === "possible" && (
        <div className="mb-5 border-b border-line pb-5">
          {byPasskey.failure && (
            <div className="mb-4">
              <FailureNotice failure={byPasskey.failure} />
            </div>
          )}
          <Button
            icon={KeyRound}
            isPending={byPasskey.isPending}
            onClick={() => void byPasskey.run()}
            className="w-full"
          >
            Sign in with a passkey
          </Button>
        </div>
      )}
      <CredentialsForm
        submit="Continue"
        isPending={byPassword.isPending}
        failure={byPassword.failure}
        onSubmit={(credentials) => void byPassword.run(credentials)}
      />
      {passkeys.state === "elsewhere" && (
        <p className="mt-5 border-t border-line pt-4 text-small text-ink-soft">
          Passkeys work at <a href={passkeys.url}>{new URL(passkeys.url).host}</a>, not at this
          address.
        </p>
      )}
    </AccessLayout>
  );
}

/** Says where the one-time link is. */
function SetupNeeded() {
  return (
    <AccessLayout
      title="The desk is not set up yet"
      introduction="This shop has no owner. Open the one-time link that the server prints when it starts: its address contains “#setup=”."
    >
      <p className="text-small text-ink-soft">
        The link is valid once, for 24 hours. The command <code>basalt desk link</code> prints
        another one.
      </p>
    </AccessLayout>
  );
}

async function runPasskey(): Promise<Result<Session, Failure>> {
  const begun = await requestPasskey();
  if (!begun.ok) return begun;
  const answered = await requestCredential(begun.value.options);
  if (!answered.ok) return answered;
  return signInByPasskey(begun.value.ticket, answered.value);
}
