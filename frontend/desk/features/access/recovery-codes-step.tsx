import { useEffect, useState } from "react";
import { useAction } from "../../shell/data/use-action.ts";
import { RecoveryCodeList } from "../../shell/session/recovery-code-list.tsx";
import { makeRecoveryCodes } from "../../shell/session/recovery-codes.ts";
import type { Session } from "../../shell/session/session.tsx";
import { Button } from "../../shell/ui/button.tsx";
import { FailureNotice } from "../../shell/ui/failure-notice.tsx";
import { Skeleton } from "../../shell/ui/skeleton.tsx";
import { AccessLayout } from "./access-layout.tsx";

interface RecoveryCodesStepProps {
  session: Session;
  onDone: () => void;
}

/** Shows the recovery codes of a new owner, once. */
export function RecoveryCodesStep({ session, onDone }: RecoveryCodesStepProps) {
  const [codes, setCodes] = useState<readonly string[]>();
  const making = useAction(makeRecoveryCodes, (made) => setCodes(made.codes));
  // biome-ignore lint/correctness/useExhaustiveDependencies: the codes are made once
  useEffect(() => void making.run(), []);
  return (
    <AccessLayout
      key="codes"
      step="Step 3"
      title="Keep the recovery codes"
      introduction="If the phone with the app is lost, a code and the password let you in. Keep them where the phone is not: printed, or in a password manager. They are shown only now."
      takesFocus
    >
      <div className="space-y-5">
        {making.failure && (
          <FailureNotice failure={making.failure} onRetry={() => void making.run()} />
        )}
        {!codes && !making.failure && <Skeleton className="h-32 w-full" />}
        {codes && (
          <RecoveryCodeList codes={codes} shop={session.shop_name} email={session.user.email} />
        )}
        <Button kind="main" onClick={onDone} className="w-full">
          I have kept the codes
        </Button>
      </div>
    </AccessLayout>
  );
}
