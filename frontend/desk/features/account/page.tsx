import { LogOut } from "lucide-react";
import type { ReactNode } from "react";
import { useAction } from "../../shell/data/use-action.ts";
import { Time } from "../../shell/format/time.tsx";
import { PageHeader } from "../../shell/frame/page-header.tsx";
import { useSession, useSessionControl } from "../../shell/session/session.tsx";
import { Button } from "../../shell/ui/button.tsx";
import { FailureNotice } from "../../shell/ui/failure-notice.tsx";
import { Passkeys } from "./passkeys.tsx";

/** How the owner signs in, and the end of the session. */
export function AccountPage() {
  const { user, expires_at, factors } = useSession();
  const { signOut } = useSessionControl();
  const ending = useAction(async () => {
    const failure = await signOut();
    return failure ? { ok: false as const, error: failure } : { ok: true as const, value: true };
  });
  const hasApp = factors.some(({ type }) => type === "totp");
  return (
    <div className="lg:h-full lg:overflow-y-auto">
      <PageHeader title="Account" />
      <div className="max-w-180 space-y-6 p-4 lg:px-5 lg:py-6">
        <Panel title="Sign-in">
          <dl className="space-y-3">
            <Line name="Email address">{user.email}</Line>
            <Line name="Authenticator app">
              {hasApp ? "Connected: it shows the code for a sign-in by password" : "Not connected"}
            </Line>
            <Line name="This session">
              Ends <Time at={expires_at} isFull />
            </Line>
          </dl>
        </Panel>
        <Passkeys />
        <Panel title="Sign out">
          <p className="mb-4 text-ink-soft">
            Ends the session of this browser. Texts that are not sent are discarded when the page is
            closed.
          </p>
          {ending.failure && (
            <div className="mb-4">
              <FailureNotice failure={ending.failure} />
            </div>
          )}
          <Button icon={LogOut} isPending={ending.isPending} onClick={() => void ending.run()}>
            Sign out
          </Button>
        </Panel>
      </div>
    </div>
  );
}

function Panel({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="rounded-large border border-line bg-sheet p-4 lg:p-5">
      <h2 className="mb-3 text-lead">{title}</h2>
      {children}
    </section>
  );
}

function Line({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="grid gap-x-6 sm:grid-cols-[11rem_minmax(0,1fr)]">
      <dt className="text-small text-ink-soft sm:text-body">{name}</dt>
      <dd className="wrap-anywhere">{children}</dd>
    </div>
  );
}
