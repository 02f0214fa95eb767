import { useParams } from "react-router-dom";
import { SplitView } from "../../shell/frame/split-view.tsx";
import { useFilters } from "../../shell/list/use-filters.ts";
import { SubmissionDetail } from "./detail.tsx";
import { Submissions } from "./list.tsx";
import { neighbourOf } from "./model.ts";
import { listFilters, useSubmissionList } from "./use-submissions.ts";

/** The list of submissions, and the one that is open. */
export function SubmissionsPage() {
  const { id } = useParams();
  const filters = useFilters();
  const wanted = listFilters(filters);
  const list = useSubmissionList(wanted, filters.get("before"));
  const back = `/submissions${filters.query}`;
  const neighbour = id && list.value && neighbourOf(list.value.submissions, id);
  return (
    <SplitView
      label="Submissions"
      list={<Submissions list={list} wanted={wanted} filters={filters} open={id} />}
      detail={
        id === undefined ? undefined : (
          <SubmissionDetail
            key={id}
            id={id}
            back={back}
            afterwards={neighbour ? `/submissions/${neighbour}${filters.query}` : back}
          />
        )
      }
    />
  );
}
