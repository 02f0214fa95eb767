import * as v from "valibot";

const MessageSchema = v.object({
  id: v.string(),
  channel: v.string(),
  at: v.string(),
  from: v.string(),
  to: v.string(),
  subject: v.string(),
  kind: v.string(),
  snippet: v.string(),
  code: v.nullable(v.string()),
  link: v.nullable(v.string()),
  is_read: v.boolean(),
  has_html: v.boolean(),
  attachments: v.number(),
});

/** The list of messages, newest first. */
export const ListSchema = v.object({ messages: v.array(MessageSchema) });

/** A message as the list shows it. */
export type Message = v.InferOutput<typeof MessageSchema>;

/** Which messages the list shows. */
export interface Filter {
  search: string;
  unreadOnly: boolean;
}

/** Returns the messages that contain every word of the search. */
export function filterMessages(messages: readonly Message[], filter: Filter): Message[] {
  const words = filter.search.toLowerCase().split(/\s+/).filter(Boolean);
  return messages.filter((message) => {
    const { from, to, subject, kind, snippet, code } = message;
    const text = [from, to, subject, kind, snippet, code ?? ""].join("\n").toLowerCase();
    return words.every((word) => text.includes(word)) && !(filter.unreadOnly && message.is_read);
  });
}

/** Returns the title of a message: its subject, or what it is. */
export function messageTitle(message: Message): string {
  if (message.subject) return message.subject;
  return message.channel === "sms" ? "SMS" : "(no subject)";
}

/** Returns the addresses of a message in one line; the recipient tells more, as the sender is mostly the same. */
export function messageAddresses(message: Message): string {
  return message.from ? `${message.to} ← ${message.from}` : message.to;
}

/** Formats a time: the hour of today, else the day as well. */
export function formatTime(at: string, now: Date): string {
  const time = new Date(at);
  const isToday = time.toDateString() === now.toDateString();
  const clock: Intl.DateTimeFormatOptions = { hour: "2-digit", minute: "2-digit" };
  const day: Intl.DateTimeFormatOptions = { day: "numeric", month: "short" };
  return time.toLocaleString(undefined, isToday ? clock : { ...day, ...clock });
}

/** Returns the link of a message if a browser can open it. */
export function openableLink(message: Message): string | null {
  return message.link && /^https?:\/\//.test(message.link) ? message.link : null;
}

/** Returns the message to open after this one was deleted: the next older one, or the last. */
export function messageAfter(messages: readonly Message[], id: string): Message | null {
  const index = messages.findIndex((message) => message.id === id);
  return messages[index + 1] ?? messages[index - 1] ?? null;
}
