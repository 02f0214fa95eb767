import { useQuery } from "../../shell/data/use-query.ts";
import { RecoveryCodeMaker } from "../../shell/session/recovery-code-maker.tsx";
import { loadRecoveryCodes, type RecoveryCodes } from "../../shell/session/recovery-codes.ts";
import { FailureNotice } from "../../shell/ui/failure-notice.tsx";
import { Skeleton } from "../../shell/ui/skeleton.tsx";
import { Panel } from "./panel.tsx";

/** The recovery codes: how many are left, and new ones. */
export function RecoveryPanel() {
  const { value, failure, reload } = useQuery("recovery-codes", loadRecoveryCodes);
  return (
    <Panel title="Recovery codes">
      {failure && <FailureNotice failure={failure} onRetry={reload} />}
      {!value && !failure && <Skeleton className="h-16 w-full" />}
      {value && (
        <RecoveryCodeMaker>
          <p className="text-ink-soft">{textOf(value)}</p>
        </RecoveryCodeMaker>
      )}
    </Panel>
  );
}

function textOf({ left, are_unconfirmed }: RecoveryCodes): string {
  if (left === 0) return "No code is left. Without codes, a lost phone locks you out.";
  if (are_unconfirmed) {
    return "You have not confirmed that you kept the codes. If you do not have them, make new ones, which end the earlier ones.";
  }
  return `${left} ${left === 1 ? "code is" : "codes are"} left. New codes end the earlier ones.`;
}
