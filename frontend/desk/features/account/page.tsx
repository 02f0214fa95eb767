import { LogOut } from "lucide-react";
import { useAction } from "../../shell/data/use-action.ts";
import { useQuery } from "../../shell/data/use-query.ts";
import { PageHeader } from "../../shell/frame/page-header.tsx";
import { useSessionControl } from "../../shell/session/session.tsx";
import { Button } from "../../shell/ui/button.tsx";
import { FailureNotice } from "../../shell/ui/failure-notice.tsx";
import { Skeleton } from "../../shell/ui/skeleton.tsx";
import { ActivityPanel } from "./activity-panel.tsx";
import { loadAccount } from "./api.ts";
import { OwnersPanel } from "./owners-panel.tsx";
import { Panel } from "./panel.tsx";
import { Passkeys } from "./passkeys.tsx";
import { RecoveryPanel } from "./recovery-panel.tsx";
import { SessionsPanel } from "./sessions-panel.tsx";
import { SignInPanel } from "./sign-in-panel.tsx";

/** How the owner signs in, and the end of the session. */
export function AccountPage() {
  const { value, failure, reload } = useQuery("account", loadAccount);
  const { signOut } = useSessionControl();
  const ending = useAction(async () => {
    const error = await signOut();
    return error ? { ok: false as const, error } : { ok: true as const, value: true };
  });
  return (
    <div className="lg:h-full lg:overflow-y-auto">
      <PageHeader title="Account" />
      <div className="max-w-180 space-y-6 p-4 lg:px-5 lg:py-6">
        <SignInPanel />
        {failure && <FailureNotice failure={failure} onRetry={reload} />}
        {!value && !failure && <Skeleton className="h-40 w-full" />}
        <RecoveryPanel />
        <Passkeys />
        {value && <SessionsPanel sessions={value.sessions} />}
        {value && <OwnersPanel owners={value.owners} />}
        <ActivityPanel />
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
