import { cleanup, configure, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { MemoryRouter } from "react-router-dom";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { setCsrfToken } from "../shell/data/csrf.ts";
import { forgetEntries } from "../shell/data/query-cache.ts";
import { answer } from "../stand-in/api.ts";
import { changeElsewhere } from "../stand-in/catalogue.ts";
import { Desk } from "./desk.tsx";

// A list has many rows, which take a while to render on a busy machine.
configure({ asyncUtilTimeout: 5_000 });
vi.setConfig({ testTimeout: 30_000 });

/** Requests that have an answer other than that of the stand-in. */
let refused: Record<string, { status: number; content: unknown }> = {};

/** A path whose answer breaks off. */
let broken: string | undefined;

beforeEach(() => {
  refused = {};
  broken = undefined;
  answer({ method: "POST", url: apiUrl("/stand-in"), body: { isSignedIn: true, isSetup: false } });
  vi.stubGlobal("fetch", async (path: string, init: RequestInit = {}) => {
    const method = init.method ?? "GET";
    const url = new URL(path, "http://localhost");
    const body = typeof init.body === "string" ? JSON.parse(init.body) : {};
    if (url.pathname.replace("/_desk/api", "") === broken) {
      const halves = new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode("id,created_at\r\n"));
          controller.error(new TypeError("network error"));
        },
      });
      return new Response(halves, { status: 200 });
    }
    const refusal = refused[`${method} ${url.pathname.replace("/_desk/api", "")}`];
    const { status, content } = refusal ?? answer({ method, url, body });
    const text = content === undefined || status === 204 ? null : JSON.stringify(content);
    return new Response(text, { status });
  });
});

afterEach(() => {
  // First, so that no screen loads again what is forgotten.
  cleanup();
  vi.unstubAllGlobals();
  forgetEntries();
  setCsrfToken(undefined);
});

function apiUrl(path: string): URL {
  return new URL(`http://localhost/_desk/api${path}`);
}

function open(path: string): void {
  render(
    <MemoryRouter initialEntries={[path]}>
      <Desk link={undefined} />
    </MemoryRouter>,
  );
}

/** Opens the first entry with this text; returns its id. */
async function openRow(text: string): Promise<string> {
  const [found] = await screen.findAllByText(text);
  const row = found?.closest("a");
  if (!row) throw new Error(`no row has the text ${text}`);
  fireEvent.click(row);
  return row.dataset.row ?? "";
}

async function enterCode(): Promise<void> {
  fireEvent.change(await screen.findByLabelText("Email address"), {
    target: { value: "owner@shop.example" },
  });
  fireEvent.change(screen.getByLabelText("Password"), { target: { value: "secret" } });
  fireEvent.click(screen.getByRole("button", { name: "Continue" }));
  fireEvent.change(await screen.findByLabelText("Code of the authenticator app"), {
    target: { value: "123 456" },
  });
  fireEvent.click(screen.getByRole("button", { name: "Sign in" }));
}

test("a session that ends leads to the sign-in and back to the same address", async () => {
  open("/orders?state=refunded");
  await waitFor(() => expect(document.querySelector("[data-row]")).toBeTruthy());
  // The request of the next list, and not one that is under way, finds that the session has ended.
  const content = { code: "desk_session_missing", message: "no session", setup: false };
  const missing = { status: 401, content };
  refused = { "GET /orders": missing, "GET /session": missing };
  fireEvent.click(screen.getByRole("link", { name: /^Paid/ }));
  expect(await screen.findByRole("heading", { name: "Sign in to the desk" })).toBeTruthy();
  refused = {};
  await enterCode();
  expect(await screen.findByRole("heading", { name: "Orders" })).toBeTruthy();
  const current = await screen.findByRole("link", { name: /^Paid/ });
  expect(current.getAttribute("aria-current")).toBe("page");
});

test("empty fields are refused with the focus in the first", async () => {
  answer({ method: "POST", url: apiUrl("/stand-in"), body: { isSignedIn: false } });
  open("/");
  fireEvent.click(await screen.findByRole("button", { name: "Continue" }));
  expect(screen.getByText("Enter an email address.")).toBeTruthy();
  expect(document.activeElement).toBe(screen.getByLabelText("Email address"));
});

test("a shop without an owner says where the link is", async () => {
  answer({
    method: "POST",
    url: apiUrl("/stand-in"),
    body: { isSignedIn: false, isSetup: true },
  });
  open("/");
  expect(await screen.findByText(/basalt desk link/)).toBeTruthy();
});

test("a desk without submissions leads to no other list", async () => {
  const counts = { new: 0, answered: 0, closed: 0, spam: 0 };
  refused["GET /submissions"] = { status: 200, content: { submissions: [], counts } };
  open("/submissions");
  expect(await screen.findByText(/^No submission waits for you\./)).toBeTruthy();
  expect(screen.queryByRole("link", { name: "Show all submissions" })).toBeNull();
});

test("a desk with only answered submissions leads to them", async () => {
  const counts = { new: 0, answered: 1, closed: 0, spam: 0 };
  refused["GET /submissions"] = { status: 200, content: { submissions: [], counts } };
  open("/submissions");
  expect(await screen.findByText(/^Everything is answered or closed\./)).toBeTruthy();
  expect(screen.getByRole("link", { name: "Show all submissions" })).toBeTruthy();
});

test("a status is shown at once, and again the old one if the server refuses it", async () => {
  open("/submissions");
  const id = await openRow("anna@whitfield-bakery.example");
  const closed = await screen.findByRole("button", { name: "Closed" });
  refused[`PATCH /submissions/${id}`] = { status: 500, content: {} };
  fireEvent.click(closed);
  expect(closed.getAttribute("aria-pressed")).toBe("true");
  expect(await screen.findByText(/is still “New”/)).toBeTruthy();
  expect(closed.getAttribute("aria-pressed")).toBe("false");
});

test("a reply that fails keeps its text and says what to do", async () => {
  open("/submissions");
  const id = await openRow("anna@whitfield-bakery.example");
  refused[`POST /submissions/${id}/reply`] = { status: 503, content: {} };
  const text = await screen.findByLabelText("Text");
  fireEvent.change(text, { target: { value: "We can do that." } });
  fireEvent.click(screen.getByRole("button", { name: "Send reply" }));
  const alert = await screen.findByRole("alert");
  expect(alert.textContent).toMatch(/Nothing is lost/);
  expect((text as HTMLTextAreaElement).value).toBe("We can do that.");
});

test("a refund names amount and buyer and is sent after the confirmation only", async () => {
  open("/orders?state=paid");
  await openRow("lea.moreau@atelier-moreau.example");
  fireEvent.click(await screen.findByRole("button", { name: "Refund" }));
  expect(screen.getByRole("heading", { name: /Refund .*28\.00 to lea\.moreau@/ })).toBeTruthy();
  expect(screen.getAllByText("Paid").length).toBeGreaterThan(0);
  fireEvent.click(screen.getByRole("button", { name: /^Refund .*28/ }));
  await waitFor(() => expect(screen.getByText(/The amount is refunded/)).toBeTruthy());
});

test("an export that breaks off says so and can be started again", async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  open("/submissions");
  fireEvent.click(await screen.findByRole("button", { name: "Export" }));
  broken = "/submissions/export";
  const start = screen.getByRole("button", { name: "CSV for a spreadsheet" });
  fireEvent.click(start);
  expect(await screen.findByText("The server cannot be reached")).toBeTruthy();
  expect(start.getAttribute("aria-busy")).toBeNull();
});

test("a message is sent again only if it has failed", async () => {
  open("/submissions");
  await openRow("k.tanaka@tanaka-legal.example");
  await screen.findByRole("heading", { name: "Activity" });
  expect(screen.getAllByText("Sent").length).toBeGreaterThan(0);
  const again = screen.getAllByRole("button", { name: /^Send again/ });
  expect([again.length, screen.getAllByText("Failed").length]).toEqual([1, 1]);
  fireEvent.click(again[0] as HTMLElement);
  expect(await screen.findByText("Waiting")).toBeTruthy();
  expect(screen.queryByRole("button", { name: /^Send again/ })).toBeNull();
});

test("of two owners who change one template the second is told and loses nothing", async () => {
  open("/catalogue/5");
  const title = await screen.findByLabelText("Title");
  fireEvent.change(title, { target: { value: "Mine" } });
  changeElsewhere(5, { title: "Theirs", price: "$99" });
  fireEvent.click(screen.getByRole("button", { name: "Save changes" }));
  expect(await screen.findByText(/changed by mara@shop.example since/)).toBeTruthy();
  expect(await screen.findByText(/has changed this to “Theirs”/)).toBeTruthy();
  expect((title as HTMLInputElement).value).toBe("Mine");
  await waitFor(() =>
    expect((screen.getByLabelText("Price") as HTMLInputElement).value).toBe("$99"),
  );
  fireEvent.click(screen.getByRole("button", { name: "Save changes" }));
  expect(await screen.findByText(/Title: “Theirs” became “Mine”/)).toBeTruthy();
  expect(screen.getByText(/Price: “\$85” became “\$99”/)).toBeTruthy();
});

test("a change is undone from the history", async () => {
  open("/catalogue/6");
  const box = await screen.findByLabelText("Visible in the shop");
  fireEvent.click(box);
  fireEvent.click(screen.getByRole("button", { name: "Save changes" }));
  expect(await screen.findByText("Visibility: visible became hidden")).toBeTruthy();
  fireEvent.click(screen.getByRole("button", { name: "Undo change 1" }));
  expect(await screen.findByText("Visibility: hidden became visible")).toBeTruthy();
  expect((box as HTMLInputElement).checked).toBe(true);
});

test("an owner who has kept no recovery codes is asked to make some", async () => {
  const count = (left: number, are_unconfirmed: boolean) => ({
    "GET /account/recovery-codes": { status: 200, content: { left, are_unconfirmed } },
  });
  refused = count(0, false);
  open("/checklist");
  const notice = await screen.findByRole("region", { name: "Notice about recovery codes" });
  expect(notice.textContent).toContain("You have no recovery codes.");
  refused = count(10, true);
  fireEvent.click(screen.getByRole("button", { name: "Make new codes" }));
  await waitFor(() => expect(notice.querySelectorAll("li").length).toBe(10));
  refused = count(10, false);
  fireEvent.click(screen.getByRole("button", { name: "I have kept the codes" }));
  await waitFor(() => expect(notice.isConnected).toBe(false));
});
