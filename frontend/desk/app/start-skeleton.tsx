import { ListSkeleton, Skeleton } from "../shell/ui/skeleton.tsx";

/** The outline of a screen, until it is known whether a user is signed in. */
export function StartSkeleton() {
  return (
    <div className="lg:grid lg:h-dvh lg:grid-cols-[14.5rem_minmax(0,1fr)]">
      <p role="status" className="sr-only">
        Loading the desk
      </p>
      <div className="border-line px-4 py-4 max-lg:border-b lg:border-r lg:bg-wall/50 lg:px-5 lg:py-5">
        <Skeleton className="h-4 w-28" />
      </div>
      <div>
        <div className="border-b border-line px-4 py-6 lg:px-5">
          <Skeleton className="h-5 w-40" />
        </div>
        <ListSkeleton />
      </div>
    </div>
  );
}
