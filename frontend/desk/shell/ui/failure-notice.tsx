import { TriangleAlert } from "lucide-react";
import { describeFailure, type Failure } from "../data/failure.ts";
import { Button } from "./button.tsx";
import { useWait } from "./use-wait.ts";

/** Says what failed and what to do next; offers another attempt as soon as the server allows it. */
export function FailureNotice({ failure, onRetry }: { failure: Failure; onRetry?: () => void }) {
  const wait = useWait(failure.retryAt);
  const { title, advice } = describeFailure(failure);
  return (
    <div
      role="alert"
      className="flex animate-rise items-start gap-3 rounded-medium border border-danger bg-sheet p-3.5"
    >
      <TriangleAlert aria-hidden="true" className="mt-0.5 size-4.5 shrink-0 text-danger" />
      <div className="min-w-0 flex-1">
        <p className="font-strong wrap-anywhere">{title}</p>
        <p className="text-small wrap-anywhere text-ink-soft">{advice}</p>
        {onRetry && (
          <Button className="mt-3" isDisabled={wait > 0} onClick={onRetry}>
            Try again
          </Button>
        )}
        {wait > 0 && (
          // The number changes every second; screen readers get the advice above.
          <p aria-hidden="true" className="mt-2 text-small text-ink-soft">
            {onRetry ? "The next attempt starts" : "Possible again"} in {wait} s.
          </p>
        )}
      </div>
    </div>
  );
}
