import { BasaltError, textOf } from "./error.js";

/** Parameters of a call; those that are undefined are left out. */
export type Query = Record<string, string | number | undefined>;

/** What a call sends. */
export interface CallOptions {
  query?: Query;
  /** Sent as JSON. */
  body?: unknown;
  /** Ends the call early. */
  signal?: AbortSignal | undefined;
}

/** Where the test API is, and its key. */
export interface TestAccess {
  url: string;
  key: string;
}

/** The test API below a path. */
export class TestApi {
  constructor(private readonly access: TestAccess) {}

  /** Returns the API below a path, which the calls of the new one are relative to. */
  below(path: string): TestApi {
    return new TestApi({ url: `${this.access.url}${path}`, key: this.access.key });
  }

  /** Calls the API and returns the parsed JSON; undefined for an empty response. */
  async call<T>(method: string, path = "", options: CallOptions = {}): Promise<T> {
    const response = await this.send(method, path, options);
    const text = await response.text();
    return (text === "" ? undefined : JSON.parse(text)) as T;
  }

  /** Calls the API and returns the response, which is a success. */
  async send(method: string, path: string, options: CallOptions = {}): Promise<Response> {
    const url = `${this.access.url}${path}${formatQuery(options.query)}`;
    const headers: Record<string, string> = { authorization: `Bearer ${this.access.key}` };
    const init: RequestInit = { method, headers };
    if (options.signal) init.signal = options.signal;
    if (options.body !== undefined) {
      headers["content-type"] = "application/json";
      init.body = JSON.stringify(options.body);
    }
    const response = await fetch(url, init).catch((cause: unknown) => {
      if (options.signal?.aborted) throw cause;
      throw new BasaltError(
        "unreachable",
        `${method} ${url} got no response`,
        "check that the server still runs; it ends with the process that started it",
        undefined,
        { cause },
      );
    });
    if (!response.ok) throw await readError(method, path, response);
    return response;
  }
}

function formatQuery(query: Query = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return pairs.length === 0 ? "" : `?${new URLSearchParams(pairs)}`;
}

async function readError(method: string, path: string, response: Response): Promise<BasaltError> {
  const text = await response.text();
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    body = undefined;
  }
  const message =
    textOf(body, "message") ?? `${method} ${path} was answered with ${response.status}`;
  const hint = textOf(body, "hint") ?? text.slice(0, 200);
  return new BasaltError(textOf(body, "code") ?? "http_error", message, hint, response.status);
}
