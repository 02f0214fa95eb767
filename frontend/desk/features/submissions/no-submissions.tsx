import { Inbox, SearchX } from "lucide-react";
import { Link } from "react-router-dom";
import type { Filters } from "../../shell/list/use-filters.ts";
import { Button, buttonClass } from "../../shell/ui/button.tsx";
import { EmptyState } from "../../shell/ui/empty-state.tsx";
import type { ListFilters, SubmissionList } from "./api.ts";
import { isFiltered } from "./model.ts";
import { ALL } from "./use-submissions.ts";

const EMPTY: Record<string, { title: string; text: string }> = {
  new: {
    title: "No new submissions",
    text: "Everything is answered or closed. A new request appears here as soon as a customer sends the form.",
  },
  answered: {
    title: "No answered submissions",
    text: "A submission is here after you have replied to it from the desk.",
  },
  closed: {
    title: "No closed submissions",
    text: "Close what needs no answer, with the button or with the key e.",
  },
  spam: {
    title: "No spam",
    text: "Suspicious submissions are kept here and mailed to no one.",
  },
  "": {
    title: "No submissions yet",
    text: "Requests from the form of the shop appear here.",
  },
};

/** The text of the list of new submissions while no submission is answered or closed. */
const NONE_WAITS =
  "No submission waits for you. A new request appears here as soon as a customer sends the form.";

interface NoSubmissionsProps {
  wanted: ListFilters;
  filters: Filters;
  counts: SubmissionList["counts"];
}

/** Says why the list is empty, and where there is more. */
export function NoSubmissions({ wanted, filters, counts }: NoSubmissionsProps) {
  if (isFiltered(wanted)) {
    return (
      <EmptyState icon={SearchX} title="Nothing matches">
        <p>No submission of this status matches the search and the filters.</p>
        <div className="flex flex-wrap justify-center gap-2">
          {wanted.status !== "" && (
            <Button onClick={() => filters.set({ status: ALL })}>Search in all</Button>
          )}
          <Button onClick={() => filters.set({ search: "", template: "", from: "", to: "" })}>
            Clear search and filters
          </Button>
        </div>
      </EmptyState>
    );
  }
  const { title, text } = EMPTY[wanted.status] ?? { title: "No submissions", text: "" };
  const isHandled = counts.answered + counts.closed > 0;
  const hasOthers = isHandled || counts.new + counts.spam > 0;
  return (
    <EmptyState icon={Inbox} title={title}>
      <p>{wanted.status === "new" && !isHandled ? NONE_WAITS : text}</p>
      {wanted.status !== "" && hasOthers && (
        <Link to={`/submissions?status=${ALL}`} className={buttonClass("plain")}>
          Show all submissions
        </Link>
      )}
    </EmptyState>
  );
}
