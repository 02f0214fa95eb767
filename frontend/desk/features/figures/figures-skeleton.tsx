import { Skeleton } from "../../shell/ui/skeleton.tsx";

/** In place of the figures while they are loading, with the same heights. */
export function FiguresSkeleton() {
  return (
    <div aria-hidden="true" className="space-y-6">
      <Skeleton className="h-48 w-full lg:h-24" />
      <Skeleton className="h-90 w-full" />
      <Skeleton className="h-72 w-full" />
    </div>
  );
}
