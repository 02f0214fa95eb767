import { describe, expect, test } from "vitest";
import {
  filterMessages,
  formatTime,
  type Message,
  messageAddresses,
  messageAfter,
  messageTitle,
  openableLink,
} from "./model.ts";

const MAIL: Message = {
  id: "1",
  channel: "email",
  at: "2026-11-22T10:00:00Z",
  from: "admin@email.com",
  to: "ada@example.com",
  subject: "Confirm your address",
  kind: "confirmation",
  snippet: "Follow this link",
  code: "123456",
  link: "http://127.0.0.1:54321/auth/v1/verify?token=x",
  is_read: false,
  has_html: true,
  attachments: 0,
};
const SMS: Message = {
  ...MAIL,
  id: "2",
  channel: "sms",
  from: "",
  to: "15550100",
  subject: "",
  link: null,
  is_read: true,
};

describe("filterMessages", () => {
  test.each([
    ["", ["1", "2"]],
    ["ADA confirm", ["1"]],
    ["123456", ["1", "2"]],
    ["15550100", ["2"]],
    ["ada 15550100", []],
  ])("finds the messages with all words of %j", (search, ids) => {
    const found = filterMessages([MAIL, SMS], { search, unreadOnly: false });
    expect(found.map(({ id }) => id)).toEqual(ids);
  });

  test("leaves out read messages", () => {
    expect(filterMessages([MAIL, SMS], { search: "", unreadOnly: true })).toEqual([MAIL]);
  });
});

test("title and addresses name an SMS without sender and subject", () => {
  expect([messageTitle(MAIL), messageAddresses(MAIL)]).toEqual([
    "Confirm your address",
    "ada@example.com ← admin@email.com",
  ]);
  expect([messageTitle(SMS), messageAddresses(SMS)]).toEqual(["SMS", "15550100"]);
  expect(messageTitle({ ...MAIL, subject: "" })).toBe("(no subject)");
});

test("time has the day unless it is today", () => {
  const now = new Date("2026-11-22T12:00:00Z");
  expect(formatTime(MAIL.at, now)).not.toMatch(/22/);
  expect(formatTime("2026-10-05T10:00:00Z", now)).toMatch(/5/);
});

test("only links of the web can be opened", () => {
  expect(openableLink(MAIL)).toBe(MAIL.link);
  for (const link of ["javascript:alert(1)", "myapp://x", "data:text/html,x", null]) {
    expect(openableLink({ ...MAIL, link })).toBeNull();
  }
});

test("the message after a deleted one is the next older one", () => {
  expect(messageAfter([MAIL, SMS], "1")).toBe(SMS);
  expect(messageAfter([MAIL, SMS], "2")).toBe(MAIL);
  expect(messageAfter([MAIL], "1")).toBeNull();
});
