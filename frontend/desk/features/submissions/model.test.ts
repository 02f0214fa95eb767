import { expect, test } from "vitest";
import type { Note, SubmissionList, Summary } from "./api.ts";
import { checkReply, nameSenders, neighbourOf, quoteOf, timelineOf, withStatus } from "./model.ts";

function entry(id: string, status: Summary["status"]): Summary {
  return {
    id,
    status,
    created_at: "2026-11-23T10:00:00Z",
    excerpt: "",
    senders: [],
    template: null,
    replies: 0,
    delivery: "none",
    spam_score: 0,
  };
}

const LIST: SubmissionList = {
  submissions: [entry("a", "new"), entry("b", "new"), entry("c", "closed")],
  counts: { new: 2, answered: 0, closed: 1, spam: 0 },
  next: null,
};

test("another status moves an entry between the counts", () => {
  const after = withStatus(LIST, "a", "answered");
  expect(after.counts).toEqual({ new: 1, answered: 1, closed: 1, spam: 0 });
  expect(after.submissions.map(({ status }) => status)).toEqual(["answered", "new", "closed"]);
  expect(withStatus(after, "a", "new")).toEqual(LIST);
});

test("the same status and unknown entries change nothing", () => {
  expect(withStatus(LIST, "a", "new")).toBe(LIST);
  expect(withStatus(LIST, "x", "spam")).toBe(LIST);
});

test("after a deletion the next entry is shown, at the end the one before", () => {
  expect(neighbourOf(LIST.submissions, "a")).toBe("b");
  expect(neighbourOf(LIST.submissions, "c")).toBe("b");
  expect(neighbourOf(LIST.submissions.slice(0, 1), "a")).toBeUndefined();
  expect(neighbourOf(LIST.submissions, "x")).toBeUndefined();
});

test("notes and messages are in the order of time", () => {
  const note = (id: string, created_at: string): Note => ({ id, created_at, text: "", author: "" });
  const message = {
    id: "m",
    kind: "reply",
    to: "",
    subject: "",
    text: "",
    state: "sent" as const,
    created_at: "2026-11-23T10:30:00+00:00",
    attempts: 1,
  };
  const notes = [note("late", "2026-11-23T11:00:00Z"), note("early", "2026-11-23T10:00:00Z")];
  const order = timelineOf({ notes, messages: [message] }).map((item) =>
    item.type === "note" ? item.note.id : item.message.id,
  );
  expect(order).toEqual(["early", "m", "late"]);
});

test("senders are counted after the first", () => {
  expect(nameSenders([])).toBe("No address");
  expect(nameSenders(["a@b.example"])).toBe("a@b.example");
  expect(nameSenders(["a@b.example", "c@d.example", "e@f.example"])).toBe("a@b.example +2");
});

test("every line of a submission is quoted", () => {
  expect(quoteOf("one\n\ntwo ")).toBe("> one\n>\n> two");
});

test("a reply needs a subject and a text", () => {
  expect(checkReply({ subject: " ", text: "x" })?.field).toBe("subject");
  expect(checkReply({ subject: "x", text: "\n" })?.field).toBe("text");
  expect(checkReply({ subject: "x", text: "y" })).toBeUndefined();
});
