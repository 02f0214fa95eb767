import { formatMoney } from "../../shell/format/format.ts";
import { DetailFailure } from "../../shell/frame/detail-failure.tsx";
import { DetailHeader } from "../../shell/frame/detail-header.tsx";
import { Badge } from "../../shell/ui/badge.tsx";
import { DetailSkeleton } from "../../shell/ui/skeleton.tsx";
import { OrderActions } from "./actions.tsx";
import type { OrderDetail } from "./api.ts";
import { OrderFacts } from "./facts.tsx";
import { OrderHistory } from "./history.tsx";
import { describeOrderState, nameProduct } from "./model.ts";
import { useOrder } from "./use-orders.ts";

interface OrderViewProps {
  id: string;
  /** The address of the list. */
  back: string;
}

/** An open order. */
export function OrderView({ id, back }: OrderViewProps) {
  const { value, failure, reload } = useOrder(id);
  if (failure && !value) {
    return (
      <DetailFailure title="Order" back={back} list="Orders" failure={failure} onRetry={reload} />
    );
  }
  if (!value) return <DetailSkeleton />;
  return <Opened order={value} back={back} />;
}

function Opened({ order, back }: { order: OrderDetail; back: string }) {
  const { number, amount_minor, currency, state, is_test, is_disputed } = order;
  const { label, tone } = describeOrderState(state);
  return (
    <article className="pb-8">
      <DetailHeader
        title={`Order #${number}`}
        back={back}
        list="Orders"
        badges={
          <span className="flex gap-1.5">
            <Badge tone={tone}>{label}</Badge>
            {is_disputed && <Badge tone="bad">Disputed</Badge>}
            {is_test && <Badge tone="info">Test</Badge>}
          </span>
        }
      >
        <p className="mt-3 text-figure font-strong">{formatMoney(amount_minor, currency)}</p>
        <p className="text-ink-soft">{nameProduct(order)}</p>
        <OrderActions order={order} />
      </DetailHeader>
      <div className="space-y-7 px-4 pt-5 lg:px-7">
        <OrderFacts order={order} />
        <OrderHistory order={order} />
      </div>
    </article>
  );
}
