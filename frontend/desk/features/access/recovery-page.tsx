import { type FormEvent, useState } from "react";
import { useAction } from "../../shell/data/use-action.ts";
import { Button } from "../../shell/ui/button.tsx";
import { FailureNotice } from "../../shell/ui/failure-notice.tsx";
import { TextField } from "../../shell/ui/field.tsx";
import { useWait } from "../../shell/ui/use-wait.ts";
import { AccessLayout } from "./access-layout.tsx";
import { type NextStep, recover } from "./api.ts";
import { recoveryCodeOf } from "./model.ts";

interface RecoveryPageProps {
  /** The ticket of the right password. */
  ticket: string;
  /** Receives the new app to connect. */
  onRecovered: (next: NextStep) => void;
  onBack: () => void;
}

/** A recovery code in place of the lost authenticator app. */
export function RecoveryPage({ ticket, onRecovered, onBack }: RecoveryPageProps) {
  const [entered, setEntered] = useState("");
  const [error, setError] = useState<string>();
  const recovery = useAction(recover, onRecovered);
  const wait = useWait(recovery.failure?.retryAt);

  function onSubmit(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault();
    const code = recoveryCodeOf(entered);
    setError(code ? undefined : "Enter a code of 16 letters and digits.");
    if (!code) event.currentTarget.querySelector("input")?.focus();
    else if (wait === 0) void recovery.run(ticket, code);
  }

  return (
    <AccessLayout
      key="recovery"
      title="Sign in with a recovery code"
      introduction="The code replaces the lost app, which stops working. In the next step you connect a new one."
      takesFocus
    >
      <form noValidate onSubmit={onSubmit} className="space-y-4">
        {recovery.failure && <FailureNotice failure={recovery.failure} />}
        <TextField
          label="Recovery code"
          name="recovery-code"
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          maxLength={40}
          value={entered}
          error={error}
          onChange={(event) => setEntered(event.target.value)}
        />
        <Button
          type="submit"
          kind="main"
          isPending={recovery.isPending}
          isDisabled={wait > 0}
          className="w-full"
        >
          Continue
        </Button>
        <Button kind="quiet" onClick={onBack} className="w-full">
          Use the app instead
        </Button>
        <p className="text-small text-ink-soft">
          No code left? On the machine of the server, the command{" "}
          <code>basalt desk reset EMAIL</code> prints a link that lets you in.
        </p>
      </form>
    </AccessLayout>
  );
}
