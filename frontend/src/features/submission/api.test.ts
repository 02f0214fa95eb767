import { FunctionsHttpError } from "@supabase/supabase-js";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { loadClient } from "../../shared/supabase.ts";
import { sendSubmission } from "./api.ts";

vi.mock("../../shared/supabase.ts", () => ({ loadClient: vi.fn() }));

const invoke = vi.fn();

beforeEach(() => {
  vi.mocked(loadClient).mockResolvedValue({ functions: { invoke } } as never);
});

afterEach(() => {
  vi.restoreAllMocks();
  invoke.mockReset();
});

describe("a submission", () => {
  test("is sent with its idempotency key and yields the receipt", async () => {
    invoke.mockResolvedValue({ data: { id: "7", message: "Stored", more: 1 }, error: null });
    expect(await sendSubmission({ description: "A card" }, "key")).toEqual({
      ok: true,
      value: { id: "7", message: "Stored" },
    });
    expect(invoke).toHaveBeenCalledWith("send-submission", {
      body: { description: "A card" },
      headers: { "Idempotency-Key": "key" },
      signal: expect.any(AbortSignal),
    });
  });

  test("names the template that it is about", async () => {
    invoke.mockResolvedValue({ data: { id: "7", message: "Stored" }, error: null });
    await sendSubmission({ description: "A card", template: 9 }, "key");
    expect(invoke.mock.calls[0]?.[1]).toMatchObject({
      body: { description: "A card", template: 9 },
    });
  });

  test("fails after 15 seconds without an answer", async () => {
    vi.useFakeTimers();
    invoke.mockReturnValue(new Promise(() => undefined));
    const sending = sendSubmission({ description: "A card" }, "key");
    await vi.advanceTimersByTimeAsync(14_999);
    expect(invoke.mock.calls[0]?.[1].signal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(await sending).toMatchObject({ ok: false, error: { message: "It could not be sent." } });
    vi.useRealTimers();
  });

  test.each([null, "text", [], { id: 7, message: "Stored" }, { id: "7" }])(
    "is accepted with another response, which is logged: %j",
    async (data) => {
      const error = vi.spyOn(console, "error").mockReturnValue();
      invoke.mockResolvedValue({ data, error: null });
      expect(await sendSubmission({ description: "A card" }, "key")).toEqual({
        ok: true,
        value: undefined,
      });
      expect(error).toHaveBeenCalledOnce();
    },
  );

  test("fails with status and body of a refusal", async () => {
    const refusal = new FunctionsHttpError(new Response("Details are required", { status: 400 }));
    invoke.mockResolvedValue({ data: null, error: refusal });
    expect(await sendSubmission({ description: "" }, "key")).toEqual({
      ok: false,
      error: { message: "400 Details are required", cause: refusal },
    });
  });

  test("fails when the client cannot be loaded", async () => {
    const cause = new Error("offline");
    vi.mocked(loadClient).mockRejectedValue(cause);
    expect(await sendSubmission({ description: "A card" }, "key")).toEqual({
      ok: false,
      error: { message: "It could not be sent.", cause },
    });
  });
});
