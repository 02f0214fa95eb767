import type { Failure } from "../data/failure.ts";
import { FailureNotice } from "../ui/failure-notice.tsx";
import { DetailHeader } from "./detail-header.tsx";

interface DetailFailureProps {
  title: string;
  /** The address and the name of the list. */
  back: string;
  list: string;
  failure: Failure;
  onRetry: () => void;
}

/** An entry of a list that cannot be shown. */
export function DetailFailure({ title, back, list, failure, onRetry }: DetailFailureProps) {
  return (
    <>
      <DetailHeader title={title} back={back} list={list} />
      <div className="p-4 lg:p-7">
        <FailureNotice failure={failure} {...(failure.kind !== "missing" && { onRetry })} />
      </div>
    </>
  );
}
