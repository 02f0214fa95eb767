import { formatMoney, formatPlural } from "../../shell/format/format.ts";
import type { Tone } from "../../shell/ui/badge.tsx";
import type { OrderDetail, OrderState, OrderSummary } from "./api.ts";

const STATE_LABELS: Record<OrderState, { label: string; tone: Tone }> = {
  paid: { label: "Paid", tone: "warning" },
  delivered: { label: "Delivered", tone: "good" },
  refunded: { label: "Refunded", tone: "neutral" },
};

/** Returns the word and the colour of a state. `paid` is the one that no buyer has downloaded yet. */
export function describeOrderState(state: OrderState) {
  return STATE_LABELS[state];
}

/** Returns what is wrong with the days of a filter; `undefined` if they can be shown. */
export function checkDays({ from, to }: { from: string; to: string }): string | undefined {
  return from && to && from > to ? "The first day must not be after the last day." : undefined;
}

/** Returns what is wrong with an address, as far as can be told here; `undefined` if a mail can be sent to it. */
export function checkAddress(address: string): string | undefined {
  return /^\S+@\S+$/.test(address) ? undefined : "Enter an email address.";
}

/** Whether two addresses are the same: the server stores them in lower case. */
export function isSameAddress(one: string, other: string): boolean {
  return one.trim().toLowerCase() === other.trim().toLowerCase();
}

const PROVIDERS: Record<string, string> = {
  stripe: "Stripe",
  paypal: "PayPal",
  lemon_squeezy: "Lemon Squeezy",
  lemonsqueezy: "Lemon Squeezy",
  simulator: "Payment simulator",
};

/** Returns the name of a payment provider. */
export function nameProvider(provider: string): string {
  return PROVIDERS[provider] ?? provider;
}

/** Returns the title of the bought template. */
export function nameProduct({ template }: Pick<OrderSummary, "template">): string {
  return template ? template.title || `Template ${template.id}` : "Unknown template";
}

/** Returns what the amount consists of, as far as the provider said it: copies, discount, tax. */
export function describePrice(
  order: Pick<
    OrderSummary,
    "currency" | "quantity" | "unit_minor" | "discount_minor" | "tax_minor"
  >,
): string[] {
  const { currency, quantity, unit_minor, discount_minor, tax_minor } = order;
  const parts: string[] = [];
  if (quantity && quantity > 1) {
    const copies = formatPlural(quantity, "copy", "copies");
    parts.push(unit_minor ? `${copies} at ${formatMoney(unit_minor, currency)}` : copies);
  }
  if (discount_minor) parts.push(`${formatMoney(discount_minor, currency)} discount`);
  if (tax_minor) parts.push(`${formatMoney(tax_minor, currency)} tax included`);
  return parts;
}

/** Returns what came back of the amount and what remains; `""` if nothing came back. */
export function describeReturned(
  order: Pick<OrderSummary, "currency" | "amount_minor" | "returned_minor">,
): string {
  const { currency, amount_minor, returned_minor } = order;
  if (returned_minor === 0) return "";
  const rest = formatMoney(amount_minor - returned_minor, currency);
  return `${formatMoney(returned_minor, currency)}, ${rest} remain paid`;
}

const EVENTS: Record<string, string> = {
  paid: "Paid",
  delivered: "First download",
  downloaded: "Downloaded",
  refunded: "Refunded",
  resent: "New download link sent",
  dispute_opened: "Disputed by the buyer",
  dispute_closed: "Dispute ended, the money stays",
};

/** Returns the name of an event. */
export function nameEvent(kind: string): string {
  return EVENTS[kind] ?? kind.charAt(0).toUpperCase() + kind.slice(1).replaceAll(/[_.]/g, " ");
}

/** Says how long the download link works. */
export function describeDownload(order: OrderDetail, now = Date.now()): "none" | "valid" | "over" {
  const { download_expires_at: end, state } = order;
  if (!end || state === "refunded") return "none";
  return Date.parse(end) > now ? "valid" : "over";
}
