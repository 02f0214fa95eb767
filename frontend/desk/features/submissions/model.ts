import type { Message } from "../../shared/message.ts";
import type { Tone } from "../../shell/ui/badge.tsx";
import type { Detail, ListFilters, Note, Status, SubmissionList, Summary } from "./api.ts";

const LABELS: Record<Status, { label: string; tone: Tone }> = {
  new: { label: "New", tone: "info" },
  answered: { label: "Answered", tone: "good" },
  closed: { label: "Closed", tone: "neutral" },
  spam: { label: "Spam", tone: "warning" },
};

/** Returns the word and the colour of a status. */
export function describeStatus(status: Status) {
  return LABELS[status];
}

/** What happened with a submission, in the order of time. */
export type TimelineItem =
  | { type: "note"; at: string; note: Note }
  | { type: "message"; at: string; message: Message };

/** Merges notes and messages by time. */
export function timelineOf({
  notes,
  messages,
}: Pick<Detail, "notes" | "messages">): TimelineItem[] {
  const items: TimelineItem[] = [
    ...notes.map((note) => ({ type: "note" as const, at: note.created_at, note })),
    ...messages.map((message) => ({ type: "message" as const, at: message.created_at, message })),
  ];
  return items.sort((one, other) => Date.parse(one.at) - Date.parse(other.at));
}

/** Returns who wrote a submission, as far as the text contains addresses. */
export function nameSenders(senders: readonly string[]): string {
  const [first, ...others] = senders;
  if (first === undefined) return "No address";
  return others.length === 0 ? first : `${first} +${others.length}`;
}

/** Returns the list with another status of one entry, and with its counts. */
export function withStatus(list: SubmissionList, id: string, status: Status): SubmissionList {
  const before = list.submissions.find((submission) => submission.id === id)?.status;
  if (before === undefined || before === status) return list;
  const submissions = list.submissions.map((submission) =>
    submission.id === id ? { ...submission, status } : submission,
  );
  const counts = {
    ...list.counts,
    [before]: Math.max(0, list.counts[before] - 1),
    [status]: list.counts[status] + 1,
  };
  return { ...list, submissions, counts };
}

/** Tells whether filters other than the status are set. */
export function isFiltered({ search, template, from, to }: ListFilters): boolean {
  return [search, template, from, to].some((value) => value !== "");
}

/** Returns the quoted lines that the server adds below a reply. */
export function quoteOf(description: string): string {
  return description
    .split("\n")
    .map((line) => `> ${line}`.trimEnd())
    .join("\n");
}

/** Returns the entry to show after one was deleted: the next one, otherwise the one before. */
export function neighbourOf(submissions: readonly Summary[], id: string): string | undefined {
  const position = submissions.findIndex((submission) => submission.id === id);
  if (position < 0) return undefined;
  return (submissions[position + 1] ?? submissions[position - 1])?.id;
}

/** Returns the error of a reply; `undefined` if it can be sent. */
export function checkReply(reply: { subject: string; text: string }) {
  if (reply.subject.trim() === "") return { field: "subject", error: "Enter a subject." };
  if (reply.text.trim() === "") return { field: "text", error: "Write a text." };
  return undefined;
}
