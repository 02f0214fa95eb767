import { useCallback } from "react";
import { TemplateFilter } from "../../shared/template-filter.tsx";
import { formatPlural } from "../../shell/format/format.ts";
import { PageHeader } from "../../shell/frame/page-header.tsx";
import { DensityButton } from "../../shell/list/density.tsx";
import { Pager } from "../../shell/list/pager.tsx";
import { SearchField } from "../../shell/list/search-field.tsx";
import { StatusTabs } from "../../shell/list/status-tabs.tsx";
import type { Filters } from "../../shell/list/use-filters.ts";
import { useRowFocus } from "../../shell/list/use-row-focus.ts";
import { useRowKeys } from "../../shell/list/use-row-keys.ts";
import { Announcement } from "../../shell/ui/announcement.tsx";
import { FailureNotice } from "../../shell/ui/failure-notice.tsx";
import { ListSkeleton } from "../../shell/ui/skeleton.tsx";
import { type OrderList, STATES } from "./api.ts";
import { DayFilter } from "./day-filter.tsx";
import { ExportButton } from "./export-button.tsx";
import { HeldPayments } from "./held.tsx";
import { describeOrderState } from "./model.ts";
import { NoOrders } from "./no-orders.tsx";
import { OrderRow } from "./row.tsx";
import { orderFilters, useOrderList } from "./use-orders.ts";

interface OrdersProps {
  filters: Filters;
  /** The id of the open order. */
  open: string | undefined;
}

/** The list of orders with its search and its states. */
export function Orders({ filters, open }: OrdersProps) {
  const { get, set, query } = filters;
  const wanted = orderFilters(filters);
  const { value, failure, isOutdated, reload } = useOrderList(wanted, get("before"));
  const rows = value?.orders ?? [];
  const addresses = rows.map(({ id }) => `/orders/${id}${query}`);
  const position = rows.findIndex(({ id }) => id === open);
  const element = useRowKeys({ noun: "order", addresses, open: position });
  useRowFocus(element, open);
  const onSearch = useCallback((search: string) => set({ search }), [set]);

  return (
    <>
      <PageHeader title="Orders" actions={<DensityButton />}>
        <div className="flex flex-wrap gap-2 pb-2">
          <div className="w-full @xl:w-auto @xl:min-w-40 @xl:flex-1">
            <SearchField label="Search orders" value={wanted.search} onChange={onSearch} />
          </div>
          <div className="min-w-32 flex-1 basis-0 @xl:w-60 @xl:flex-none @xl:basis-auto">
            <TemplateFilter value={wanted.template} onChange={(template) => set({ template })} />
          </div>
          <DayFilter from={wanted.from} to={wanted.to} onChange={set} />
          <ExportButton filters={wanted} />
        </div>
        <StatusTabs label="State" path="/orders" name="state" tabs={stateTabs(value?.counts)} />
      </PageHeader>
      <HeldPayments />
      {failure && (
        <div className="p-4 lg:px-5">
          <FailureNotice failure={failure} onRetry={reload} />
        </div>
      )}
      <Announcement>{value && !isOutdated ? formatPlural(rows.length, "order") : ""}</Announcement>
      {!value && !failure && <ListSkeleton />}
      {value && (
        <div aria-busy={isOutdated} className={isOutdated ? "opacity-60" : ""}>
          {rows.length === 0 && <NoOrders wanted={wanted} filters={filters} />}
          <ul ref={element}>
            {rows.map((order, row) => (
              <OrderRow
                key={order.id}
                order={order}
                address={addresses[row] ?? ""}
                isOpen={order.id === open}
              />
            ))}
          </ul>
          <Pager next={value.next} />
        </div>
      )}
    </>
  );
}

function stateTabs(counts: OrderList["counts"] | undefined) {
  const tabs = STATES.map((state) => ({
    value: state as string,
    label: describeOrderState(state).label,
    count: counts?.[state],
  }));
  const all = counts && counts.paid + counts.delivered + counts.refunded;
  return [{ value: "", label: "All", count: all }, ...tabs];
}
