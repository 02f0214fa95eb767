import { formatBrief, formatDate, formatTime } from "./format.ts";

interface TimeProps {
  at: string;
  /** Whether date and time are shown in place of the short form. */
  isFull?: boolean;
  /** Whether the date is shown in place of the time of today. */
  isDated?: boolean;
}

/** A point in time: short, with the full form as its description. */
export function Time({ at, isFull = false, isDated = false }: TimeProps) {
  return (
    <time dateTime={at} title={formatTime(at)} className="whitespace-nowrap">
      {isFull ? formatTime(at) : isDated ? formatDate(at) : formatBrief(at)}
    </time>
  );
}
