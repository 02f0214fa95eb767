/** A refused call, or a server that cannot be started or reached. */
export class BasaltError extends Error {
  override readonly name = "BasaltError";

  /**
   * @param code a stable name, such as `not_found` or `message_timeout`
   * @param message what is wrong
   * @param hint what to do next
   * @param status the status of the response, if there was one
   */
  constructor(
    readonly code: string,
    message: string,
    readonly hint: string,
    readonly status?: number,
    options?: ErrorOptions,
  ) {
    super(hint ? `${message} (${code}): ${hint}` : `${message} (${code})`, options);
  }
}

/** Returns a text member of an object of unknown shape. */
export function textOf(value: unknown, member: string): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const text: unknown = (value as Record<string, unknown>)[member];
  return typeof text === "string" ? text : undefined;
}
