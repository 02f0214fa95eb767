import { useState } from "react";
import { useAction } from "../../shell/data/use-action.ts";
import { formatMoney } from "../../shell/format/format.ts";
import { Time } from "../../shell/format/time.tsx";
import { Button } from "../../shell/ui/button.tsx";
import { FailureNotice } from "../../shell/ui/failure-notice.tsx";
import { SelectField, TextField } from "../../shell/ui/field.tsx";
import { useToast } from "../../shell/ui/toasts.tsx";
import { deliverHeld, dismissHeld, type HeldList, type HeldPayment } from "./api.ts";
import { nameProvider } from "./model.ts";
import { reloadOrders, useHeldPayments } from "./use-orders.ts";

/** The payments that wait for the owner, each with a button that delivers it. */
export function HeldPayments() {
  const held = useHeldPayments().value;
  if (!held || held.payments.length === 0) return null;
  return (
    <section aria-labelledby="held" className="border-b border-line bg-memo px-4 py-4 lg:px-5">
      <h2 id="held" className="font-strong">
        {held.payments.length === 1
          ? "One payment was not delivered"
          : `${held.payments.length} payments were not delivered`}
      </h2>
      <ul className="mt-3 space-y-5">
        {held.payments.map((payment) => (
          <HeldRow key={`${payment.provider} ${payment.event_id}`} payment={payment} held={held} />
        ))}
      </ul>
    </section>
  );
}

function HeldRow({ payment, held }: { payment: HeldPayment; held: HeldList }) {
  const { amount_minor, currency, provider, received_at, detail, buyer_email, needs_buyer } =
    payment;
  const [template, setTemplate] = useState(payment.template ? String(payment.template) : "");
  const [email, setEmail] = useState("");
  const toast = useToast();
  const delivering = useAction(
    () => deliverHeld(payment, Number(template), email),
    () => {
      reloadOrders();
      toast({ text: "The template is delivered: the download link is on its way to the buyer." });
    },
  );
  const dismissing = useAction(() => dismissHeld(payment), reloadOrders);
  const amount = formatMoney(amount_minor, currency);
  const isIncomplete = template === "" || (needs_buyer && email.trim() === "");
  const failure = delivering.failure ?? dismissing.failure;
  return (
    <li>
      <p>
        <span className="font-strong">{amount}</span> at {nameProvider(provider)}
        {payment.is_test && " (test)"} · <Time at={received_at} isFull />
      </p>
      {buyer_email && <p className="wrap-anywhere">{buyer_email}</p>}
      {detail && <p className="text-small wrap-anywhere text-ink-soft">{detail}</p>}
      <div className="mt-2 flex flex-wrap items-end gap-2">
        <div className="w-60 max-w-full">
          <SelectField
            label={`Template for the payment of ${amount}`}
            isLabelHidden
            value={template}
            onChange={(event) => setTemplate(event.target.value)}
          >
            <option value="">Choose a template</option>
            {held.templates.map(({ id, title }) => (
              <option key={id} value={id}>
                {title}
              </option>
            ))}
          </SelectField>
        </div>
        {needs_buyer && (
          <div className="w-60 max-w-full">
            <TextField
              label="Email address of the buyer"
              type="email"
              value={email}
              onChange={(event) => setEmail(event.target.value)}
            />
          </div>
        )}
        <Button
          kind="main"
          className="lg:min-h-10"
          isPending={delivering.isPending}
          isDisabled={isIncomplete}
          onClick={() => void delivering.run()}
        >
          Deliver
        </Button>
        <Button
          kind="quiet"
          className="lg:min-h-10"
          isPending={dismissing.isPending}
          onClick={() => void dismissing.run()}
        >
          Not for this shop
        </Button>
      </div>
      {failure && (
        <div className="mt-2">
          <FailureNotice failure={failure} />
        </div>
      )}
    </li>
  );
}
