import { useParams } from "react-router-dom";
import { SplitView } from "../../shell/frame/split-view.tsx";
import { useFilters } from "../../shell/list/use-filters.ts";
import { OrderView } from "./detail.tsx";
import { Orders } from "./list.tsx";

/** The list of orders, and the one that is open. */
export function OrdersPage() {
  const { id } = useParams();
  const filters = useFilters();
  return (
    <SplitView
      label="Orders"
      list={<Orders filters={filters} open={id} />}
      detail={
        id === undefined ? undefined : (
          <OrderView key={id} id={id} back={`/orders${filters.query}`} />
        )
      }
    />
  );
}
