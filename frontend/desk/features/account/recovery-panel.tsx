import { useState } from "react";
import { invalidate } from "../../shell/data/query-cache.ts";
import { useAction } from "../../shell/data/use-action.ts";
import { RecoveryCodeList } from "../../shell/session/recovery-code-list.tsx";
import { makeRecoveryCodes } from "../../shell/session/recovery-codes.ts";
import { useSession } from "../../shell/session/session.tsx";
import { Button } from "../../shell/ui/button.tsx";
import { FailureNotice } from "../../shell/ui/failure-notice.tsx";
import { Panel } from "./panel.tsx";

/** The recovery codes: how many are left, and new ones. */
export function RecoveryPanel({ left }: { left: number }) {
  const { shop_name: shop, user } = useSession();
  const [codes, setCodes] = useState<readonly string[]>();
  const making = useAction(makeRecoveryCodes, (made) => {
    setCodes(made.codes);
    invalidate("account");
    invalidate("checklist");
  });
  return (
    <Panel
      title="Recovery codes"
      action={
        <Button isPending={making.isPending} onClick={() => void making.run()}>
          Make new codes
        </Button>
      }
    >
      <p className="mb-4 text-ink-soft">
        {left === 0
          ? "No code is left. Without codes, a lost phone locks you out."
          : `${left} ${left === 1 ? "code is" : "codes are"} left. New codes end the earlier ones.`}
      </p>
      {making.failure && <FailureNotice failure={making.failure} />}
      {codes && <RecoveryCodeList codes={codes} shop={shop} email={user.email} />}
    </Panel>
  );
}
