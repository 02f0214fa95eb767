// Requests and answers of the stand-in.

/** A request as the stand-in sees it. */
export interface StandInRequest {
  method: string;
  url: URL;
  body: Record<string, unknown>;
}

/** The answer: a status and content, and headers. */
export interface StandInAnswer {
  status: number;
  content?: unknown;
  headers?: Record<string, string>;
}

export const ok = (content: unknown, status = 200): StandInAnswer => ({ status, content });
export const fail = (status: number, code: string, text: string, hint?: string): StandInAnswer => ({
  status,
  content: { code, message: text, hint },
});
