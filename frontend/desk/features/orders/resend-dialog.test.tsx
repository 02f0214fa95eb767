import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ToastProvider } from "../../shell/ui/toasts.tsx";
import { ResendDialog } from "./resend-dialog.tsx";

const ORDER = { id: "1", buyer_email: "ann@example.com" };
const onClose = vi.fn();

/** The bodies of the requests. */
let sent: unknown[];
let answer: () => Response;

beforeEach(() => {
  sent = [];
  answer = () => new Response("{}", { status: 202 });
  onClose.mockReset();
  vi.stubGlobal("fetch", async (path: string, { method, body }: RequestInit) => {
    expect([method, path]).toEqual(["POST", "/_desk/api/orders/1/resend"]);
    sent.push(JSON.parse(String(body)));
    return answer();
  });
});

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

function dialogOf(order: typeof ORDER) {
  return (
    <ToastProvider>
      <ResendDialog order={order} onClose={onClose} />
    </ToastProvider>
  );
}

function field(): HTMLInputElement {
  return screen.getByLabelText("Send to");
}

function submit(): void {
  fireEvent.click(screen.getByRole("button", { name: "Send the link" }));
}

test("a link is sent to the address of the order unless another one is entered", async () => {
  render(dialogOf(ORDER));
  expect(field().value).toBe("ann@example.com");
  submit();
  await waitFor(() => expect(onClose).toHaveBeenCalledOnce());
  expect(sent).toEqual([{ email: null, previous_email: "ann@example.com" }]);
  const done = "A new download link is on its way to ann@example.com. Older links have ended.";
  expect(screen.getByText(done)).toBeTruthy();
});

test("another address becomes that of the order, which the dialog says before", async () => {
  render(dialogOf(ORDER));
  expect(screen.queryByText(/instead of/)).toBeNull();
  fireEvent.change(field(), { target: { value: "anne@example.com" } });
  expect(screen.getByText(/gets this address instead of ann@example\.com/)).toBeTruthy();
  submit();
  await waitFor(() => expect(onClose).toHaveBeenCalledOnce());
  expect(sent).toEqual([{ email: "anne@example.com", previous_email: "ann@example.com" }]);
  expect(screen.getByText(/^The address of the order is changed\. A new/)).toBeTruthy();
});

test("what is no address is refused with the focus in the field", () => {
  render(dialogOf(ORDER));
  for (const value of ["", "ann"]) {
    fireEvent.change(field(), { target: { value } });
    submit();
    expect(screen.getByText("Enter an email address.")).toBeTruthy();
    expect(document.activeElement).toBe(field());
  }
  expect([sent, onClose.mock.calls]).toEqual([[], []]);
});

test("a change by another owner is told, and the field has the address of the order", async () => {
  const content = { code: "conflict", message: "Another link was sent in the meantime." };
  answer = () => new Response(JSON.stringify(content), { status: 409 });
  const { rerender } = render(dialogOf(ORDER));
  submit();
  expect((await screen.findByRole("alert")).textContent).toContain("Another link was sent");
  expect(onClose).not.toHaveBeenCalled();
  rerender(dialogOf({ ...ORDER, buyer_email: "anne@example.com" }));
  expect(field().value).toBe("anne@example.com");
  answer = () => new Response("{}", { status: 202 });
  submit();
  await waitFor(() => expect(onClose).toHaveBeenCalledOnce());
  expect(sent.at(-1)).toEqual({ email: null, previous_email: "anne@example.com" });
});
