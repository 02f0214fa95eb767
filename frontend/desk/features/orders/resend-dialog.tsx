import { type FormEvent, useState } from "react";
import { useAction } from "../../shell/data/use-action.ts";
import { Button } from "../../shell/ui/button.tsx";
import { Dialog } from "../../shell/ui/dialog.tsx";
import { FailureNotice } from "../../shell/ui/failure-notice.tsx";
import { TextField } from "../../shell/ui/field.tsx";
import { useToast } from "../../shell/ui/toasts.tsx";
import { useWait } from "../../shell/ui/use-wait.ts";
import { type OrderDetail, resendDownload } from "./api.ts";
import { checkAddress, isSameAddress } from "./model.ts";
import { reloadOrders } from "./use-orders.ts";

interface ResendDialogProps {
  order: Pick<OrderDetail, "id" | "buyer_email">;
  onClose: () => void;
}

/** Asks where to send a new download link. Another address than that of the order becomes that of the order. */
export function ResendDialog({ order, onClose }: ResendDialogProps) {
  const { id, buyer_email: buyer } = order;
  // Without an input, the field follows the order, which another owner may change.
  const [entered, setEntered] = useState<string>();
  const [error, setError] = useState<string>();
  const toast = useToast();
  const address = (entered ?? buyer).trim();
  const isOther = !isSameAddress(address, buyer);
  const resending = useAction(
    async () => {
      const outcome = await resendDownload(id, buyer, isOther ? address : undefined);
      if (!outcome.ok && outcome.error.code === "conflict") reloadOrders();
      return outcome;
    },
    () => {
      onClose();
      reloadOrders();
      const change = isOther ? "The address of the order is changed. " : "";
      toast({
        text: `${change}A new download link is on its way to ${address}. Older links have ended.`,
      });
    },
  );
  const wait = useWait(resending.failure?.retryAt);

  function onSubmit(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault();
    const found = checkAddress(address);
    setError(found);
    if (found) event.currentTarget.querySelector("input")?.focus();
    else if (wait === 0) void resending.run();
  }

  return (
    <Dialog title="Send a new download link?" onClose={onClose}>
      <form noValidate onSubmit={onSubmit} className="space-y-4">
        <TextField
          label="Send to"
          type="email"
          autoComplete="off"
          value={entered ?? buyer}
          error={error}
          hint={
            isOther && buyer
              ? `The order gets this address instead of ${buyer}. Later mails about it go there, too.`
              : "If the buyer mistyped the address, correct it here."
          }
          onChange={(event) => setEntered(event.target.value)}
        />
        <p className="text-ink-soft">
          The mail has the receipt, too. The links that were sent before end.
        </p>
        {resending.failure && <FailureNotice failure={resending.failure} />}
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="main" isPending={resending.isPending} isDisabled={wait > 0}>
            Send the link
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
