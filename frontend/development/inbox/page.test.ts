import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Result } from "../../src/shared/result.ts";
import type { InboxApi } from "./api.ts";
import type { Message } from "./model.ts";
import { InboxPage } from "./page.ts";

const HTML = readFileSync(join(import.meta.dirname, "page.html"), "utf8");

function message(id: string, change: Partial<Message> = {}): Message {
  return {
    id,
    channel: "email",
    at: "2026-11-22T10:00:00Z",
    from: "admin@email.com",
    to: `${id}@example.com`,
    subject: `Subject of ${id}`,
    kind: "confirmation",
    snippet: "<b>bold</b>",
    code: "123456",
    link: "http://127.0.0.1/verify",
    is_read: false,
    has_html: true,
    attachments: 0,
    ...change,
  };
}

type Answer = Result<null, string>;

const DONE: Answer = { ok: true, value: null };

/** A server with these messages, newest first. */
function fakeApi(messages: Message[]): InboxApi {
  return {
    list: vi.fn(async () => ({ ok: true as const, value: structuredClone(messages) })),
    getText: vi.fn(async (id) => ({ ok: true as const, value: `text of ${id}` })),
    waitForChange: vi.fn(async () => DONE),
    markRead: vi.fn(async (ids, isRead) => {
      for (const message of messages) if (ids.includes(message.id)) message.is_read = isRead;
      return DONE;
    }),
    delete: vi.fn(async (id) => {
      messages.splice(
        messages.findIndex((message) => message.id === id),
        1,
      );
      return DONE;
    }),
    deleteAll: vi.fn(async () => {
      messages.length = 0;
      return DONE;
    }),
    previewUrl: (id) => `/preview/${id}`,
    sourceUrl: (id) => `/source/${id}`,
  };
}

let ending = new AbortController();

async function startPage(messages: Message[], search = "") {
  const api = fakeApi(messages);
  const copy = vi.fn(async () => {});
  const { signal } = ending;
  const page = new InboxPage({ api, search, copy, sleep: async () => {}, signal });
  await page.start();
  return { api, copy, page };
}

/** Lets the page wait once for a change, with this answer. */
async function watchOnce(api: InboxApi, page: InboxPage, answer: Answer = DONE): Promise<void> {
  vi.mocked(api.waitForChange)
    .mockResolvedValueOnce(answer)
    .mockImplementationOnce(async () => {
      ending.abort();
      return DONE;
    });
  await page.watch();
}

const items = () => within(screen.getByRole("list")).queryAllByRole("button");
const openItem = async (name: RegExp) => {
  fireEvent.click(within(screen.getByRole("list")).getByRole("button", { name }));
  await waitFor(() => expect(document.getElementById("text")?.textContent).not.toBe(""));
};
const press = (key: string) => fireEvent.keyDown(document.body, { key });

beforeEach(() => {
  ending = new AbortController();
  document.body.className = "";
  document.body.innerHTML = /<body[^>]*>(.*)<\/body>/s.exec(HTML)?.[1] ?? "";
});

afterEach(() => ending.abort());

describe("list", () => {
  test("shows sender, recipient, subject and snippet as text", async () => {
    await startPage([message("ada")]);
    const [item] = items();
    expect(item?.textContent).toContain("ada@example.com ← admin@email.com");
    expect(item?.textContent).toContain("<b>bold</b>");
    expect(document.querySelector("#list b")).toBeNull();
    expect(document.title).toBe("Inbox (1)");
  });

  test("is searched and limited to unread messages", async () => {
    await startPage([message("ada"), message("bob", { is_read: true })], "bob");
    expect(items()).toHaveLength(1);
    fireEvent.input(screen.getByRole("searchbox"), { target: { value: "" } });
    expect(items()).toHaveLength(2);
    fireEvent.click(screen.getByRole("button", { name: "Unread" }));
    expect(items()).toHaveLength(1);
    fireEvent.input(screen.getByRole("searchbox"), { target: { value: "nobody" } });
    expect(screen.getByText("No message matches.")).toBeTruthy();
  });

  test("shows messages as they arrive", async () => {
    const messages = [message("ada")];
    const { api, page } = await startPage(messages);
    messages.unshift(message("bob"));
    await watchOnce(api, page);
    expect(api.waitForChange).toHaveBeenCalledWith("ada");
    expect(items()).toHaveLength(2);
  });

  test("says that the server does not answer", async () => {
    const { api, page } = await startPage([]);
    await watchOnce(api, page, { ok: false, error: "No answer." });
    expect(screen.getByRole("status").textContent).toBe("No answer. Trying again…");
  });

  test("recovers after a failed request", async () => {
    const { api, page } = await startPage([]);
    vi.mocked(api.waitForChange).mockResolvedValueOnce({ ok: false, error: "No answer." });
    await watchOnce(api, page);
    expect(screen.getByRole("status").textContent).toBe("");
  });
});

describe("message", () => {
  test("is marked as read, shown in a sandbox, and can be unread again", async () => {
    const { api } = await startPage([message("ada")]);
    await openItem(/ada/);
    expect(api.markRead).toHaveBeenCalledWith(["ada"], true);
    const preview = document.querySelector("iframe");
    expect(preview?.getAttribute("sandbox")).toBe("");
    expect(preview?.getAttribute("src")).toBe("/preview/ada");
    expect(document.title).toBe("Inbox");
    press("u");
    await waitFor(() => expect(document.title).toBe("Inbox (1)"));
  });

  test("code and link are copied by button and key", async () => {
    const { copy } = await startPage([message("ada")]);
    await openItem(/ada/);
    fireEvent.click(screen.getByRole("button", { name: "Copy code" }));
    await waitFor(() => expect(copy).toHaveBeenCalledWith("123456"));
    press("l");
    await waitFor(() => expect(copy).toHaveBeenCalledWith("http://127.0.0.1/verify"));
    expect(screen.getByRole("status").textContent).toBe("Link copied");
  });

  test("without HTML shows its text", async () => {
    await startPage([message("sms", { channel: "sms", has_html: false, link: null })]);
    await openItem(/sms/);
    expect(document.getElementById("text")?.hidden).toBe(false);
    expect(document.getElementById("preview")?.hidden).toBe(true);
    expect(document.getElementById("link-row")?.hidden).toBe(true);
  });

  test("of a link that is not of the web cannot be followed", async () => {
    await startPage([message("ada", { link: "javascript:alert(1)" })]);
    await openItem(/ada/);
    expect(document.getElementById("link")?.hasAttribute("href")).toBe(false);
  });

  test("is chosen and deleted by keys", async () => {
    const { api } = await startPage([message("ada"), message("bob")]);
    press("j");
    press("j");
    expect(document.getElementById("subject")?.textContent).toBe("Subject of bob");
    press("k");
    press("Delete");
    await waitFor(() => expect(api.delete).toHaveBeenCalledWith("ada"));
    await waitFor(() => expect(items()).toHaveLength(1));
    expect(document.getElementById("reader")?.hidden).toBe(true);
  });

  test("closes when it is deleted elsewhere", async () => {
    const messages = [message("ada")];
    const { api, page } = await startPage(messages);
    await openItem(/ada/);
    messages.length = 0;
    await watchOnce(api, page);
    expect(document.getElementById("reader")?.hidden).toBe(true);
  });
});

test("everything is deleted at the second click", async () => {
  const { api } = await startPage([message("ada")]);
  const button = screen.getByRole("button", { name: "Delete all" });
  fireEvent.click(button);
  expect(button.textContent).toBe("Really delete all?");
  expect(api.deleteAll).not.toHaveBeenCalled();
  fireEvent.click(button);
  await waitFor(() => expect(items()).toHaveLength(0));
  expect(screen.getByText(/No messages yet/)).toBeTruthy();
});
