import * as v from "valibot";
import type { Result } from "../../shared/result.ts";
import { loadClient } from "../../shared/supabase.ts";

const ReceiptSchema = v.object({ id: v.string(), message: v.string() });

/** The response of the server to a submission that it has stored. */
export type Receipt = v.InferOutput<typeof ReceiptSchema>;

/** The reason why a submission was not stored: a text, and the error itself. */
interface SubmissionFailure {
  message: string;
  cause: unknown;
}

/** The details of a submission, and the template that it is about. */
export interface Details {
  description: string;
  template?: number | undefined;
}

/** The longest wait for a response, in milliseconds. */
const TIME_LIMIT = 15_000;

/**
 * Sends the details. `attempt` is the idempotency key by which the server recognises a repeated
 * attempt. Returns the receipt; `undefined` if the server accepts the details with another response.
 */
export async function sendSubmission(
  details: Details,
  attempt: string,
): Promise<Result<Receipt | undefined, SubmissionFailure>> {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(new Error("There was no answer.")), TIME_LIMIT);
  try {
    const supabase = await orAborted(loadClient(), limit.signal);
    const call = supabase.functions.invoke<unknown>("send-submission", {
      body: details.template === undefined ? { description: details.description } : { ...details },
      headers: { "Idempotency-Key": attempt },
      signal: limit.signal,
    });
    const { data, error } = await orAborted(call, limit.signal);
    if (error) return { ok: false, error: { message: await failureMessage(error), cause: error } };
    return { ok: true, value: parseReceipt(data) };
  } catch (cause) {
    return { ok: false, error: { message: "It could not be sent.", cause } };
  } finally {
    clearTimeout(timer);
  }
}

/** Returns the result of the work, or fails with the reason of the signal. */
function orAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const aborted = new Promise<never>((_, fail) => {
    signal.addEventListener("abort", () => fail(signal.reason), { once: true });
  });
  return Promise.race([work, aborted]);
}

/** Loads the client ahead of the first submission. A failure shows when it is used. */
export function preloadClient(): void {
  loadClient().catch(() => undefined);
}

/** The response is only logged, so that one of another form is no failure of the submission. */
function parseReceipt(data: unknown): Receipt | undefined {
  const receipt = v.safeParse(ReceiptSchema, data);
  if (receipt.success) return receipt.output;
  console.error("The response to the submission is no receipt:", v.flatten(receipt.issues), data);
  return undefined;
}

/** Returns status and body of the response; without a response, the text of the error. */
async function failureMessage(error: { message: string; context?: unknown }): Promise<string> {
  if (!(error.context instanceof Response)) return error.message;
  const body = await error.context.text().catch(() => "");
  return `${error.context.status} ${body || error.message}`;
}
