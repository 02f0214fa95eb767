import { ReceiptText, SearchX } from "lucide-react";
import type { Filters } from "../../shell/list/use-filters.ts";
import { Button } from "../../shell/ui/button.tsx";
import { EmptyState } from "../../shell/ui/empty-state.tsx";
import type { OrderFilters } from "./api.ts";

const NO_FILTERS: OrderFilters = { search: "", template: "", state: "", from: "", to: "" };

/** Says why the list is empty, and what to do. */
export function NoOrders({ wanted, filters }: { wanted: OrderFilters; filters: Filters }) {
  if (Object.values(wanted).some((value) => value !== "")) {
    return (
      <EmptyState icon={SearchX} title="Nothing matches">
        <p>No order matches the search and the filters.</p>
        <Button onClick={() => filters.set(NO_FILTERS)}>Show all orders</Button>
      </EmptyState>
    );
  }
  return (
    <EmptyState icon={ReceiptText} title="No orders yet">
      <p>
        An order appears here when the payment provider reports a payment. To test it, buy a
        template with the payment simulator of the development mode.
      </p>
    </EmptyState>
  );
}
