import * as v from "valibot";
import type { Tone } from "../shell/ui/badge.tsx";

/** An e-mail that the server sends, with the state of its delivery. */
export const MessageSchema = v.object({
  id: v.string(),
  kind: v.string(),
  to: v.string(),
  subject: v.nullish(v.string(), ""),
  text: v.nullish(v.string(), ""),
  state: v.picklist(["waiting", "sent", "failed", "held"]),
  error: v.nullish(v.string()),
  created_at: v.string(),
  sent_at: v.nullish(v.string()),
  attempts: v.nullish(v.number(), 0),
});

export type Message = v.InferOutput<typeof MessageSchema>;

/** The reference to a template of the catalogue. */
export const TemplateReferenceSchema = v.object({
  id: v.number(),
  title: v.nullish(v.string(), ""),
});

type MessageState = Message["state"];

const STATES: Record<MessageState, { label: string; tone: Tone; explanation: string }> = {
  waiting: {
    label: "Waiting",
    tone: "warning",
    explanation: "The server sends it soon, and tries again if the mail server refuses it.",
  },
  sent: { label: "Sent", tone: "good", explanation: "The mail server has accepted it." },
  failed: {
    label: "Failed",
    tone: "bad",
    explanation: "The server has stopped trying. Check the address and send it again.",
  },
  held: {
    label: "Held",
    tone: "neutral",
    explanation: "The server keeps it in the inbox of the development mode and sends it to no one.",
  },
};

/** Returns the words and the colour of a state of delivery. */
export function describeState(state: MessageState) {
  return STATES[state];
}

const KINDS: Record<string, string> = {
  notice: "Notice to you",
  confirmation: "Confirmation",
  reply: "Reply",
  delivery: "Download link",
  refund: "Refund receipt",
};

/** Returns the name of a kind of message. */
export function nameKind(kind: string): string {
  return KINDS[kind] ?? kind.charAt(0).toUpperCase() + kind.slice(1).replaceAll("_", " ");
}
