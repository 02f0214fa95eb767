import { useEffect, useState } from "react";
import { useAction } from "../../shell/data/use-action.ts";
import { RecoveryCodeList } from "../../shell/session/recovery-code-list.tsx";
import {
  confirmRecoveryCodes,
  type MadeCodes,
  makeRecoveryCodes,
} from "../../shell/session/recovery-codes.ts";
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
  const [made, setMade] = useState<MadeCodes>();
  const making = useAction(makeRecoveryCodes, setMade);
  const confirmation = useAction(confirmRecoveryCodes, onDone);
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
        {!made && !making.failure && <Skeleton className="h-32 w-full" />}
        {made && (
          <RecoveryCodeList
            codes={made.codes}
            shop={session.shop_name}
            email={session.user.email}
          />
        )}
        {confirmation.failure && <FailureNotice failure={confirmation.failure} />}
        <Button
          kind="main"
          isPending={confirmation.isPending}
          // Without codes, the desk asks for them again.
          onClick={() => (made ? void confirmation.run(made) : onDone())}
          className="w-full"
        >
          I have kept the codes
        </Button>
      </div>
    </AccessLayout>
  );
}
