import { formatBrief, formatTime } from "./format.ts";

/** A point in time: short, with the full form as its description. */
export function Time({ at, isFull = false }: { at: string; isFull?: boolean }) {
  return (
    <time dateTime={at} title={formatTime(at)} className="whitespace-nowrap">
      {isFull ? formatTime(at) : formatBrief(at)}
    </time>
  );
}
