import { invalidate } from "../../shell/data/query-cache.ts";
import { type Query, useQuery } from "../../shell/data/use-query.ts";
import { type Filters, queryOf } from "../../shell/list/use-filters.ts";
import {
  type HeldList,
  loadHeld,
  loadOrder,
  loadOrders,
  type OrderDetail,
  type OrderFilters,
  type OrderList,
  STATES,
} from "./api.ts";

const LISTS = "orders?";
const DETAILS = "order/";
const HELD = "held";

/** Returns the filters of the address. */
export function orderFilters({ get }: Filters): OrderFilters {
  const state = STATES.find((name) => name === get("state")) ?? "";
  const [search, template] = [get("search"), get("template")];
  return { state, search, template, from: get("from"), to: get("to") };
}

/** Loads the page of the list that the address names. */
export function useOrderList(filters: OrderFilters, before: string): Query<OrderList> {
  const key = `${LISTS}${queryOf({ ...filters, before })}`;
  return useQuery(key, () => loadOrders(filters, before));
}

/** Loads one order. */
export function useOrder(id: string): Query<OrderDetail> {
  return useQuery(DETAILS + id, () => loadOrder(id));
}

/** Loads the payments that wait for the owner. */
export function useHeldPayments(): Query<HeldList> {
  return useQuery(HELD, loadHeld);
}

/** Loads what is shown of orders again, after a change. */
export function reloadOrders(): void {
  invalidate(LISTS);
  invalidate(DETAILS);
  invalidate(HELD);
}
