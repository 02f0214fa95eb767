/** What a call to the outside came to: a value, or the reason there is none. */
export type Result<Value, Failure> = { ok: true; value: Value } | { ok: false; error: Failure };
