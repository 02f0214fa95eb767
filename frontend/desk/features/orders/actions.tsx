import { RotateCw, Undo2 } from "lucide-react";
import { useState } from "react";
import { useAction } from "../../shell/data/use-action.ts";
import { formatMoney } from "../../shell/format/format.ts";
import { useShortcuts } from "../../shell/keyboard/shortcuts.tsx";
import { Button } from "../../shell/ui/button.tsx";
import { ConfirmDialog } from "../../shell/ui/confirm-dialog.tsx";
import { useToast } from "../../shell/ui/toasts.tsx";
import { type OrderDetail, refundOrder } from "./api.ts";
import { nameProduct, nameProvider } from "./model.ts";
import { ResendDialog } from "./resend-dialog.tsx";
import { reloadOrders } from "./use-orders.ts";

/** What the owner can do with an order: a new download link, a refund. */
export function OrderActions({ order }: { order: OrderDetail }) {
  const { state } = order;
  const [asked, setAsked] = useState<"resend" | "refund">();
  const isRefunded = state === "refunded";
  const resend = () => {
    if (!isRefunded) setAsked("resend");
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
          <Button icon={RotateCw} onClick={resend}>
            Send a new download link
          </Button>
          <Button icon={Undo2} onClick={() => setAsked("refund")}>
            Refund
          </Button>
        </div>
      )}
      {asked === "resend" && <ResendDialog order={order} onClose={() => setAsked(undefined)} />}
      {asked === "refund" && <RefundDialog order={order} onClose={() => setAsked(undefined)} />}
    </div>
  );
}

function RefundDialog({ order, onClose }: { order: OrderDetail; onClose: () => void }) {
  const { id, number, currency, buyer_email: buyer, provider, is_test } = order;
  const amount = formatMoney(order.amount_minor - order.returned_minor, currency);
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
        {nameProvider(provider)} returns{" "}
        {order.returned_minor > 0 ? "the rest" : "the whole amount"} of order #{number} (
        {nameProduct(order)}). The download links of the order end. This cannot be undone.
      </p>
      {is_test && <p>This is a test order: no money moves.</p>}
    </ConfirmDialog>
  );
}
