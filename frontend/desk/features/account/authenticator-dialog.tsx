import { type FormEvent, useState } from "react";
import { useAction } from "../../shell/data/use-action.ts";
import { TotpSecret } from "../../shell/session/totp-secret.tsx";
import { Button } from "../../shell/ui/button.tsx";
import { Dialog } from "../../shell/ui/dialog.tsx";
import { FailureNotice } from "../../shell/ui/failure-notice.tsx";
import { TextField } from "../../shell/ui/field.tsx";
import { beginAuthenticator, confirmAuthenticator } from "./api.ts";
import { ChangeDialog } from "./change-dialog.tsx";

interface AuthenticatorDialogProps {
  onDone: () => void;
  onClose: () => void;
}

/** Connects another authenticator app in place of the present one. */
export function AuthenticatorDialog({ onDone, onClose }: AuthenticatorDialogProps) {
  const [begun, setBegun] =
    useState<Extract<Awaited<ReturnType<typeof beginAuthenticator>>, { ok: true }>["value"]>();
  const [code, setCode] = useState("");
  const confirmation = useAction(confirmAuthenticator, onDone);
  if (!begun) {
    return (
      <ChangeDialog
        title="Connect another authenticator app"
        submit="Continue"
        act={beginAuthenticator}
        onDone={setBegun}
        onClose={onClose}
      >
        <p>The present app works until the new one has shown its first code.</p>
      </ChangeDialog>
    );
  }
  function onSubmit(event: FormEvent): void {
    event.preventDefault();
    if (begun) void confirmation.run(begun.ticket, code.replace(/[\s-]/g, ""));
  }
  return (
    <Dialog title="Connect another authenticator app" onClose={onClose}>
      <TotpSecret totp={begun.totp} />
      <form noValidate onSubmit={onSubmit} className="space-y-4">
        <TextField
          label="Code of the authenticator app"
          inputMode="numeric"
          autoComplete="one-time-code"
          maxLength={12}
          value={code}
          onChange={(event) => setCode(event.target.value)}
        />
        {confirmation.failure && <FailureNotice failure={confirmation.failure} />}
        <div className="flex justify-end">
          <Button type="submit" kind="main" isPending={confirmation.isPending}>
            Confirm
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
