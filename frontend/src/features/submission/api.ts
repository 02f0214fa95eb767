import type { Result } from "../../shared/result.ts";
import { connect } from "../../shared/supabase.ts";

/** Why a submission did not arrive: in words, and as it was thrown. */
interface SubmissionFailure {
  message: string;
  cause: unknown;
}

/**
 * Sends the details. `attempt` is the key by which the server recognises a repeated attempt, so that
 * it stores one. Yields what the server answered.
 */
export async function sendSubmission(
  description: string,
  attempt: string,
): Promise<Result<unknown, SubmissionFailure>> {
  try {
    const supabase = await connect();
    const { data, error } = await supabase.functions.invoke<unknown>("send-submission", {
      body: { description },
      headers: { "Idempotency-Key": attempt },
    });
    if (error) return { ok: false, error: { message: await explain(error), cause: error } };
    return { ok: true, value: data };
  } catch (cause) {
    return { ok: false, error: { message: "It could not be sent.", cause } };
  }
}

/** Loads the client ahead of the first submission. A failure shows when it is used. */
export function prepare(): void {
  connect().catch(() => undefined);
}

/** The server's own words where it answered, else the client's. */
async function explain(error: { message: string; context?: unknown }): Promise<string> {
  if (!(error.context instanceof Response)) return error.message;
  const body = await error.context.text().catch(() => "");
  return `${error.context.status} ${body || error.message}`;
}
