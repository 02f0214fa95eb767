import { formatMoney } from "../../shell/format/format.ts";
import { Time } from "../../shell/format/time.tsx";
import { ListRow, RowLink } from "../../shell/list/row.tsx";
import { Badge } from "../../shell/ui/badge.tsx";
import type { OrderSummary } from "./api.ts";
import { describeOrderState, nameProduct } from "./model.ts";

interface OrderRowProps {
  order: OrderSummary;
  address: string;
  isOpen: boolean;
}

/** An order in the list: amount, product, buyer, state and time. */
export function OrderRow({ order, address, isOpen }: OrderRowProps) {
  const { id, number, amount_minor, currency, buyer_email, state, paid_at } = order;
  const { is_test, is_disputed } = order;
  const { label, tone } = describeOrderState(state);
  return (
    <ListRow isOpen={isOpen}>
      <RowLink
        id={id}
        address={address}
        isOpen={isOpen}
        className="grid min-h-18 grid-cols-[auto_minmax(0,1fr)_auto] content-center gap-x-1 gap-y-1 px-4 py-2.5 lg:px-5 @3xl:grid-cols-[4.5rem_minmax(0,1.2fr)_minmax(0,1fr)_8.5rem_5.5rem_8.5rem] @3xl:items-center @3xl:gap-x-5 @3xl:[&]:min-h-14 @3xl:dense:[&]:min-h-8 @3xl:dense:py-0.5"
      >
        <span className="order-4 self-center text-small text-ink-soft @3xl:order-none">
          <span className="sr-only">Order </span>#{number}
        </span>
        <span className="order-1 col-span-2 truncate font-strong @3xl:order-none @3xl:col-span-1">
          {nameProduct(order)}
        </span>
        <span className="order-3 col-span-3 truncate text-small text-ink-soft @3xl:order-none @3xl:col-span-1">
          {buyer_email || "No address"}
        </span>
        <span className="order-6 flex flex-wrap justify-end gap-1.5 @3xl:order-none @3xl:justify-start">
          {is_disputed && <Badge tone="bad">Disputed</Badge>}
          {is_test && <Badge tone="info">Test</Badge>}
          <Badge tone={tone}>{label}</Badge>
        </span>
        <span
          className={`order-2 pl-3 text-right font-strong @3xl:order-none @3xl:pl-0 ${state === "refunded" ? "text-ink-soft line-through" : ""}`}
        >
          {formatMoney(amount_minor, currency)}
        </span>
        <span className="order-5 self-center text-small text-ink-soft @3xl:order-none @3xl:text-right">
          <span aria-hidden="true" className="@3xl:hidden">
            ·{" "}
          </span>
          <Time at={paid_at} isDated />
        </span>
      </RowLink>
    </ListRow>
  );
}
