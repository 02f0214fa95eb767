import * as v from "valibot";
import { MessageSchema, TemplateReferenceSchema } from "../../shared/message.ts";
import { fetchFile, Nothing, send } from "../../shell/data/request.ts";
import { queryOf } from "../../shell/list/use-filters.ts";

export const STATUSES = ["new", "answered", "closed", "spam"] as const;

export type Status = (typeof STATUSES)[number];

const SUMMARY = {
  id: v.string(),
  number: v.nullish(v.number()),
  created_at: v.string(),
  status: v.picklist(STATUSES),
  excerpt: v.string(),
  senders: v.array(v.string()),
  template: v.nullish(TemplateReferenceSchema),
  replies: v.number(),
  delivery: v.picklist(["delivered", "waiting", "failed", "none"]),
  spam_score: v.number(),
};

const SummarySchema = v.object(SUMMARY);

const ListSchema = v.object({
  submissions: v.array(SummarySchema),
  counts: v.object({ new: v.number(), answered: v.number(), closed: v.number(), spam: v.number() }),
  next: v.nullish(v.string()),
});

const NoteSchema = v.object({
  id: v.string(),
  text: v.string(),
  author: v.string(),
  created_at: v.string(),
});

const DetailSchema = v.object({
  ...SUMMARY,
  description: v.string(),
  notes: v.array(NoteSchema),
  messages: v.array(MessageSchema),
});

export type Summary = v.InferOutput<typeof SummarySchema>;
export type SubmissionList = v.InferOutput<typeof ListSchema>;
export type Note = v.InferOutput<typeof NoteSchema>;
export type Detail = v.InferOutput<typeof DetailSchema>;

/** The filters of the list, as the API names them; `""` if not set. */
export type ListFilters = Record<"status" | "search" | "template" | "from" | "to", string>;

/** An e-mail to a sender. */
export interface Reply {
  to: string;
  subject: string;
  text: string;
}

export function loadList(filters: ListFilters, before: string) {
  return send({ path: `/submissions${queryOf({ ...filters, before })}` }, ListSchema);
}

export function loadDetail(id: string) {
  return send({ path: `/submissions/${id}` }, DetailSchema);
}

export function changeStatus(id: string, status: Status) {
  return send({ method: "PATCH", path: `/submissions/${id}`, body: { status } }, Nothing);
}

export function addNote(id: string, text: string) {
  return send({ method: "POST", path: `/submissions/${id}/notes`, body: { text } }, Nothing);
}

export function deleteNote(id: string, note: string) {
  return send({ method: "DELETE", path: `/submissions/${id}/notes/${note}` }, Nothing);
}

/** Sends a reply; the server quotes the submission below the text. */
export function sendReply(id: string, reply: Reply) {
  const path = `/submissions/${id}/reply`;
  return send({ method: "POST", path, body: reply }, v.object({ message: MessageSchema }));
}

export function resendMessage(id: string, message: string) {
  return send(
    { method: "POST", path: `/submissions/${id}/messages/${message}/resend`, body: {} },
    Nothing,
  );
}

/** Deletes submissions, at most 200. */
export function deleteSubmissions(ids: readonly string[]) {
  return send(
    { method: "POST", path: "/submissions/delete", body: { ids } },
    v.object({ deleted: v.number() }),
  );
}

/** Loads the file with all submissions of the filters. */
export function exportSubmissions(filters: ListFilters, format: "csv" | "json") {
  return fetchFile(`/submissions/export${queryOf({ ...filters, format })}`);
}
