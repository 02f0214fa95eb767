import { invalidate, patchEntries } from "../../shell/data/query-cache.ts";
import { type Query, useQuery } from "../../shell/data/use-query.ts";
import { type Filters, queryOf } from "../../shell/list/use-filters.ts";
import { useToast } from "../../shell/ui/toasts.tsx";
import {
  changeStatus,
  type Detail,
  type ListFilters,
  loadDetail,
  loadList,
  STATUSES,
  type Status,
  type SubmissionList,
} from "./api.ts";
import { describeStatus, withStatus } from "./model.ts";

const LISTS = "submissions?";
const DETAILS = "submission/";

/** The value of the status in the address that stands for every status. */
export const ALL = "all";

/** Returns the filters of the address; without a status, those of new submissions. */
export function listFilters({ get }: Filters): ListFilters {
  const status = get("status");
  const known = STATUSES.find((name) => name === status);
  return {
    status: known ?? (status === ALL ? "" : "new"),
    search: get("search"),
    template: get("template"),
    from: get("from"),
    to: get("to"),
  };
}

/** Loads the page of the list that the address names. */
export function useSubmissionList(filters: ListFilters, before: string): Query<SubmissionList> {
  const key = `${LISTS}${queryOf({ ...filters, before })}`;
  return useQuery(key, () => loadList(filters, before));
}

/** Loads one submission. */
export function useSubmission(id: string): Query<Detail> {
  return useQuery(DETAILS + id, () => loadDetail(id));
}

/** Loads what is shown of submissions again, after a change. */
export function reloadSubmissions(): void {
  invalidate(LISTS);
  invalidate(DETAILS);
}

/** Returns the function that changes a status at once, with a way back in the message about it. */
export function useStatusChange(): (id: string, from: Status, to: Status) => Promise<void> {
  const toast = useToast();

  function show(id: string, status: Status): void {
    patchEntries<SubmissionList>(LISTS, (list) => withStatus(list, id, status));
    patchEntries<Detail>(DETAILS + id, (detail) => ({ ...detail, status }));
  }

  async function change(id: string, from: Status, to: Status, isUndo = false): Promise<void> {
    show(id, to);
    const changed = await changeStatus(id, to);
    if (!changed.ok) {
      show(id, from);
      const { label } = describeStatus(from);
      toast({
        text: `The status could not be changed and is still “${label}”. Try again in a moment.`,
      });
      return;
    }
    reloadSubmissions();
    if (isUndo) return toast({ text: "The change is undone." });
    toast({
      text: `Marked as ${describeStatus(to).label.toLowerCase()}.`,
      undo: () => void change(id, to, from, true),
    });
  }

  return change;
}
