import * as v from "valibot";
import { MessageSchema, TemplateReferenceSchema } from "../../shared/message.ts";
import { fetchFile, Nothing, send } from "../../shell/data/request.ts";
import { queryOf } from "../../shell/list/use-filters.ts";

export const STATES = ["paid", "delivered", "refunded"] as const;

export type OrderState = (typeof STATES)[number];

const SUMMARY = {
  id: v.string(),
  number: v.number(),
  paid_at: v.string(),
  state: v.picklist(STATES),
  template: v.nullish(TemplateReferenceSchema),
  buyer_email: v.nullish(v.string(), ""),
  amount_minor: v.number(),
  currency: v.string(),
  tax_minor: v.nullish(v.number()),
  discount_minor: v.nullish(v.number()),
  quantity: v.nullish(v.number()),
  unit_minor: v.nullish(v.number()),
  returned_minor: v.nullish(v.number(), 0),
  provider: v.string(),
  is_test: v.boolean(),
  is_disputed: v.nullish(v.boolean(), false),
  delivered_at: v.nullish(v.string()),
  refunded_at: v.nullish(v.string()),
  downloads: v.number(),
};

const SummarySchema = v.object(SUMMARY);

const ListSchema = v.object({
  orders: v.array(SummarySchema),
  counts: v.object({ paid: v.number(), delivered: v.number(), refunded: v.number() }),
  next: v.nullish(v.string()),
});

const EventSchema = v.object({ at: v.string(), kind: v.string(), detail: v.nullish(v.string()) });

const DetailSchema = v.object({
  ...SUMMARY,
  provider_reference: v.string(),
  download_expires_at: v.nullish(v.string()),
  messages: v.array(MessageSchema),
  events: v.array(EventSchema),
});

export type OrderSummary = v.InferOutput<typeof SummarySchema>;
export type OrderList = v.InferOutput<typeof ListSchema>;
export type OrderDetail = v.InferOutput<typeof DetailSchema>;

/** The filters of the list, as the API names them; `""` if not set. */
export type OrderFilters = Record<"state" | "search" | "template" | "from" | "to", string>;

export function loadOrders(filters: OrderFilters, before: string) {
  return send({ path: `/orders${queryOf({ ...filters, before })}` }, ListSchema);
}

export function loadOrder(id: string) {
  return send({ path: `/orders/${id}` }, DetailSchema);
}

/**
 * Mails a new download link; older links end. `email` becomes the address of the order; without it, the link goes to
 * the one that the order has. Refused if the order no longer has the address `buyer`.
 */
export function resendDownload(id: string, buyer: string, email: string | undefined) {
  const body = { email: email ?? null, previous_email: buyer || null };
  return send({ method: "POST", path: `/orders/${id}/resend`, body }, Nothing);
}

/** Refunds the whole amount at the payment provider. */
export function refundOrder(id: string) {
  return send({ method: "POST", path: `/orders/${id}/refund`, body: {} }, Nothing);
}

const HeldPaymentSchema = v.object({
  provider: v.string(),
  event_id: v.string(),
  received_at: v.string(),
  detail: v.nullish(v.string()),
  amount_minor: v.number(),
  currency: v.string(),
  buyer_email: v.nullish(v.string()),
  needs_buyer: v.boolean(),
  is_test: v.boolean(),
  template: v.nullish(v.number()),
});

const HeldListSchema = v.object({
  payments: v.array(HeldPaymentSchema),
  templates: v.array(v.object({ id: v.number(), title: v.string() })),
});

export type HeldPayment = v.InferOutput<typeof HeldPaymentSchema>;
export type HeldList = v.InferOutput<typeof HeldListSchema>;

/** Loads the payments that wait for the owner. */
export function loadHeld() {
  return send({ path: "/orders/held" }, HeldListSchema);
}

/** Delivers a payment that waits; an address replaces the one that it lacks. */
export function deliverHeld(payment: HeldPayment, template: number, email: string) {
  const { provider, event_id } = payment;
  const body = { provider, event_id, template, email: email.trim() || null };
  return send({ method: "POST", path: "/orders/held/deliver", body }, Nothing);
}

/** Takes a payment from the list without delivering it. */
export function dismissHeld({ provider, event_id }: HeldPayment) {
  return send(
    { method: "POST", path: "/orders/held/dismiss", body: { provider, event_id } },
    Nothing,
  );
}

/** Loads the file with all orders of the filters. */
export function exportOrders(filters: OrderFilters) {
  return fetchFile(`/orders/export${queryOf(filters)}`);
}
