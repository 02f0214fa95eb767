import { RotateCw, Undo2 } from "lucide-react";
import { useState } from "react";
import { useAction } from "../../shell/data/use-action.ts";
import { formatMoney } from "../../shell/format/format.ts";
import { useShortcuts } from "../../shell/keyboard/shortcuts.tsx";
import { Button } from "../../shell/ui/button.tsx";
import { ConfirmDialog } from "../../shell/ui/confirm-dialog.tsx";
import { FailureNotice } from "../../shell/ui/failure-notice.tsx";
import { useToast } from "../../shell/ui/toasts.tsx";
import { useWait } from "../../shell/ui/use-wait.ts";
import { type OrderDetail, refundOrder, resendDownload } from "./api.ts";
import { nameProduct, nameProvider } from "./model.ts";
import { reloadOrders } from "./use-orders.ts";

/** What the owner can do with an order: a new download link, a refund. */
export function OrderActions({ order }: { order: OrderDetail }) {
  const { id, state, buyer_email: buyer } = order;
  const [isRefunding, setRefunding] = useState(false);
  const toast = useToast();
  const resending = useAction(
    () => resendDownload(id),
    () => {
      reloadOrders();
      toast({ text: `A new download link is on its way to ${buyer}. Older links have ended.` });
    },
  );
  const wait = useWait(resending.failure?.retryAt);
  const isRefunded = state === "refunded";
  const resend = () => {
    if (!isRefunded && wait === 0) void resending.run();
  };
  useShortcuts([{ key: "r", label: "Send a new download link", run: resend }]);

  return (
    <div className="mt-4 border-b border-line pb-4">
      {isRefunded ? (
        <p className="text-small text-ink-soft">
          The amount is refunded. The download links of this order have ended.
        </p>
      ) : (
        <div className="flex flex-wrap gap-2">
          <Button
            icon={RotateCw}
            isPending={resending.isPending}
            isDisabled={wait > 0}
            onClick={resend}
          >
            Send a new download link
          </Button>
          <Button icon={Undo2} onClick={() => setRefunding(true)}>
            Refund
          </Button>
        </div>
      )}
      {resending.failure && (
        <div className="mt-3">
          <FailureNotice failure={resending.failure} />
        </div>
      )}
      {isRefunding && <RefundDialog order={order} onClose={() => setRefunding(false)} />}
    </div>
  );
}

function RefundDialog({ order, onClose }: { order: OrderDetail; onClose: () => void }) {
  const { id, number, amount_minor, currency, buyer_email: buyer, provider, is_test } = order;
  const amount = formatMoney(amount_minor, currency);
  const toast = useToast();
  const refunding = useAction(
    () => refundOrder(id),
    () => {
      onClose();
      reloadOrders();
      toast({ text: `${amount} are refunded to ${buyer}.` });
    },
  );
  return (
    <ConfirmDialog
      title={`Refund ${amount} to ${buyer}?`}
      confirm={`Refund ${amount}`}
      isPending={refunding.isPending}
      failure={refunding.failure}
      onConfirm={() => void refunding.run()}
      onClose={onClose}
    >
      <p>
        {nameProvider(provider)} returns the whole amount of order #{number} ({nameProduct(order)}).
        The download links of the order end. This cannot be undone.
      </p>
      {is_test && <p>This is a test order: no money moves.</p>}
    </ConfirmDialog>
  );
}
