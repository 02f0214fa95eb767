import { Fingerprint } from "lucide-react";
import { useAction } from "../../shell/data/use-action.ts";
import { addPasskey, suggestPasskeyName } from "../../shell/session/passkeys.ts";
import { Button } from "../../shell/ui/button.tsx";
import { FailureNotice } from "../../shell/ui/failure-notice.tsx";
import { AccessLayout } from "./access-layout.tsx";

/** Offers a passkey to a new owner. */
export function PasskeyOffer({ onDone }: { onDone: () => void }) {
  const creation = useAction(() => addPasskey(suggestPasskeyName()), onDone);
  return (
    <AccessLayout
      step="Step 4"
      title="Sign in faster with a passkey"
      introduction="This device can sign you in with its fingerprint sensor, its camera or its PIN. The password and the app keep working."
      takesFocus
    >
      <div className="space-y-3">
        {creation.failure && <FailureNotice failure={creation.failure} />}
        <Button
          kind="main"
          icon={Fingerprint}
          isPending={creation.isPending}
          onClick={() => void creation.run()}
          className="w-full"
        >
          Create a passkey
        </Button>
        <Button kind="quiet" onClick={onDone} className="w-full">
          Not now
        </Button>
      </div>
    </AccessLayout>
  );
}
