import { Star } from "lucide-react";

/** A fixed text, the same for every template; not a result of reviews. */
export function Rating() {
  return (
    <p className="inline-flex items-center gap-1.5 text-small whitespace-nowrap">
      <Star aria-hidden="true" className="size-4 fill-current" />
      (4.9)
    </p>
  );
}
