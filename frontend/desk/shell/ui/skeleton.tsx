const ROWS = ["w-3/5", "w-2/5", "w-1/2", "w-3/5", "w-1/3", "w-1/2", "w-2/5", "w-3/5"];

/** A grey bar in place of text that is loading. */
export function Skeleton({ className }: { className: string }) {
  return <div className={`animate-pulse rounded-small bg-wall ${className}`} />;
}

/** In place of a list that is loading, with rows of the same height. */
export function ListSkeleton() {
  return (
    <div aria-hidden="true">
      {ROWS.map((width, row) => (
        <div
          // biome-ignore lint/suspicious/noArrayIndexKey: the rows are equal and never change
          key={row}
          className="flex min-h-18 flex-col justify-center gap-2.5 border-b border-line px-4 lg:px-5"
        >
          <Skeleton className={`h-3 ${width}`} />
          <Skeleton className="h-2.5 w-4/5" />
        </div>
      ))}
    </div>
  );
}

/** In place of a detail that is loading. */
export function DetailSkeleton() {
  return (
    <div aria-hidden="true" className="space-y-5 p-5 lg:p-7">
      <Skeleton className="h-6 w-2/3" />
      <Skeleton className="h-3 w-1/3" />
      <div className="space-y-3 pt-4">
        <Skeleton className="h-3 w-full" />
        <Skeleton className="h-3 w-11/12" />
        <Skeleton className="h-3 w-4/5" />
      </div>
      <Skeleton className="h-32 w-full" />
    </div>
  );
}
