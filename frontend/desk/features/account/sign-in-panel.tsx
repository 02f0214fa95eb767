import { type ReactNode, useState } from "react";
import { invalidate } from "../../shell/data/query-cache.ts";
import { Time } from "../../shell/format/time.tsx";
import { useSession, useSessionControl } from "../../shell/session/session.tsx";
import { Button } from "../../shell/ui/button.tsx";
import { useToast } from "../../shell/ui/toasts.tsx";
import { changeEmail, changePassword } from "./api.ts";
import { AuthenticatorDialog } from "./authenticator-dialog.tsx";
import { ChangeDialog } from "./change-dialog.tsx";
import { Panel } from "./panel.tsx";

/** Address, password and authenticator app, each with its change. */
export function SignInPanel() {
  const { user, expires_at, factors } = useSession();
  const { reload } = useSessionControl();
  const [changed, setChanged] = useState<"email" | "password" | "app">();
  const toast = useToast();
  const hasApp = factors.some(({ type }) => type === "totp");

  function finish(text: string): void {
    setChanged(undefined);
    invalidate("account");
    toast({ text });
  }

  return (
    <Panel title="Sign-in">
      <dl className="space-y-3">
        <Line name="Email address" onChange={() => setChanged("email")}>
          {user.email}
        </Line>
        <Line name="Password" onChange={() => setChanged("password")}>
          Set
        </Line>
        <Line name="Authenticator app" onChange={() => setChanged("app")}>
          {hasApp ? "Connected: it shows the code for a sign-in by password" : "Not connected"}
        </Line>
        <Line name="This session">
          Ends <Time at={expires_at} isFull />
        </Line>
      </dl>
      {changed === "email" && (
        <ChangeDialog
          title="Change the email address"
          submit="Change address"
          field={{ label: "New email address", type: "email" }}
          act={changeEmail}
          onDone={() => {
            finish("The address is changed.");
            reload();
          }}
          onClose={() => setChanged(undefined)}
        />
      )}
      {changed === "password" && (
        <ChangeDialog
          title="Change the password"
          submit="Change password"
          field={{
            label: "New password",
            type: "password",
            hint: "A long sentence is easy to remember and hard to guess.",
          }}
          act={changePassword}
          onDone={() => finish("The password is changed. Other sessions have ended.")}
          onClose={() => setChanged(undefined)}
        />
      )}
      {changed === "app" && (
        <AuthenticatorDialog
          onDone={() => {
            finish("The new authenticator app is connected.");
            reload();
          }}
          onClose={() => setChanged(undefined)}
        />
      )}
    </Panel>
  );
}

interface LineProps {
  name: string;
  children: ReactNode;
  onChange?: () => void;
}

function Line({ name, children, onChange }: LineProps) {
  return (
    <div className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-6 sm:grid-cols-[11rem_minmax(0,1fr)_auto]">
      <dt className="text-small text-ink-soft sm:text-body">{name}</dt>
      <dd className="col-start-1 wrap-anywhere sm:col-start-2">{children}</dd>
      {onChange && (
        <dd className="col-start-2 row-span-2 row-start-1 sm:col-start-3 sm:row-span-1">
          <Button onClick={onChange} aria-label={`Change: ${name}`}>
            Change
          </Button>
        </dd>
      )}
    </div>
  );
}
