/** The result of a call that can fail: a value or an error. */
export type Result<Value, Failure> = { ok: true; value: Value } | { ok: false; error: Failure };
