import { type FormEvent, useState } from "react";
import { useAction } from "../../shell/data/use-action.ts";
import { addPasskey, suggestPasskeyName } from "../../shell/session/passkeys.ts";
import { Button } from "../../shell/ui/button.tsx";
import { Dialog } from "../../shell/ui/dialog.tsx";
import { FailureNotice } from "../../shell/ui/failure-notice.tsx";
import { TextField } from "../../shell/ui/field.tsx";
import { useToast } from "../../shell/ui/toasts.tsx";
import { useWait } from "../../shell/ui/use-wait.ts";

interface AddPasskeyDialogProps {
  onClose: () => void;
  onAdded: () => void;
}

/** Asks for a name and creates a passkey. */
export function AddPasskeyDialog({ onClose, onAdded }: AddPasskeyDialogProps) {
  const [name, setName] = useState(suggestPasskeyName);
  const toast = useToast();
  const adding = useAction(addPasskey, () => {
    onAdded();
    toast({ text: `The passkey “${name.trim()}” is added.` });
  });
  const wait = useWait(adding.failure?.retryAt);
  const error = name.trim() === "" ? "Enter a name." : undefined;

  function onSubmit(event: FormEvent): void {
    event.preventDefault();
    if (!error && wait === 0) void adding.run(name.trim());
  }

  return (
    <Dialog title="Add a passkey" onClose={onClose}>
      <form noValidate onSubmit={onSubmit} className="space-y-4">
        <TextField
          label="Name"
          hint="So that you recognise it later, such as the name of the device."
          maxLength={60}
          value={name}
          error={error}
          onChange={(event) => setName(event.target.value)}
        />
        {adding.failure && <FailureNotice failure={adding.failure} />}
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="main" isPending={adding.isPending} isDisabled={wait > 0}>
            Continue
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
