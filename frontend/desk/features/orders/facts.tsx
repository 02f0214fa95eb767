import type { ReactNode } from "react";
import { formatPlural } from "../../shell/format/format.ts";
import { Time } from "../../shell/format/time.tsx";
import type { OrderDetail } from "./api.ts";
import {
  describeDownload,
  describePrice,
  describeReturned,
  nameProduct,
  nameProvider,
} from "./model.ts";

/** What is known about an order. */
export function OrderFacts({ order }: { order: OrderDetail }) {
  const { buyer_email: buyer, paid_at, delivered_at, refunded_at, downloads } = order;
  const price = describePrice(order);
  const returned = describeReturned(order);
  return (
    <dl className="grid gap-x-8 gap-y-3 sm:grid-cols-2">
      <Fact name="Buyer">
        {buyer ? (
          <a
            href={`mailto:${buyer}`}
            className="-my-1 inline-block py-1 underline underline-offset-4"
          >
            {buyer}
          </a>
        ) : (
          "No address: the provider did not report one"
        )}
      </Fact>
      <Fact name="Template">{nameProduct(order)}</Fact>
      {price.length > 0 && <Fact name="Price">{price.join(", ")}</Fact>}
      <Fact name="Paid">
        <Time at={paid_at} isFull />
      </Fact>
      <Fact name="First download">
        {delivered_at ? <Time at={delivered_at} isFull /> : "Not yet"}
      </Fact>
      {(refunded_at || returned) && (
        <Fact name="Refunded">
          {returned}
          {refunded_at && returned && " · "}
          {refunded_at && <Time at={refunded_at} isFull />}
        </Fact>
      )}
      <Fact name="Downloads">
        {downloads === 0 ? "None yet" : formatPlural(downloads, "download")}
      </Fact>
      <Fact name="Download link">
        <DownloadLink order={order} />
      </Fact>
      <Fact name="Payment">
        {nameProvider(order.provider)}{" "}
        <code className="text-small wrap-anywhere text-ink-soft">{order.provider_reference}</code>
      </Fact>
    </dl>
  );
}

function DownloadLink({ order }: { order: OrderDetail }) {
  const validity = describeDownload(order);
  const end = order.download_expires_at;
  if (validity === "none" || !end) return "None";
  return (
    <>
      {validity === "valid" ? "Works until " : "Expired "}
      <Time at={end} isFull />
    </>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="min-w-0">
      <dt className="text-small text-ink-soft">{name}</dt>
      <dd className="wrap-anywhere">{children}</dd>
    </div>
  );
}
