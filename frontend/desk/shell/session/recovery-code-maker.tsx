import { type ReactNode, useState } from "react";
import { invalidate } from "../data/query-cache.ts";
import { useAction } from "../data/use-action.ts";
import { Button } from "../ui/button.tsx";
import { FailureNotice } from "../ui/failure-notice.tsx";
import { RecoveryCodeList } from "./recovery-code-list.tsx";
import { confirmRecoveryCodes, type MadeCodes, makeRecoveryCodes } from "./recovery-codes.ts";
import { useSession } from "./session.tsx";

/** Makes new recovery codes on request, shows them, and lets the owner say that they are kept. */
export function RecoveryCodeMaker({ children }: { children: ReactNode }) {
  const { shop_name: shop, user } = useSession();
  const [made, setMade] = useState<MadeCodes>();
  const making = useAction(makeRecoveryCodes, setMade);
  const confirmation = useAction(confirmRecoveryCodes, () => {
    setMade(undefined);
    invalidate("recovery-codes");
    invalidate("checklist");
  });
  const failure = making.failure ?? confirmation.failure;
  return (
    <div className="space-y-4">
      {children}
      {failure && <FailureNotice failure={failure} />}
      {made && <RecoveryCodeList codes={made.codes} shop={shop} email={user.email} />}
      <div className="flex flex-wrap gap-2">
        {made && (
          <Button
            kind="main"
            isPending={confirmation.isPending}
            onClick={() => void confirmation.run(made)}
          >
            I have kept the codes
          </Button>
        )}
        <Button
          isPending={making.isPending}
          onClick={() => {
            confirmation.reset();
            void making.run();
          }}
        >
          Make new codes
        </Button>
      </div>
    </div>
  );
}
