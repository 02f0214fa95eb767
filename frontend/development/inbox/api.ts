import * as v from "valibot";
import type { Result } from "../../src/shared/result.ts";
import { BASE_PATH } from "../base-path.ts";
import { ListSchema, type Message } from "./model.ts";

/** How long a request waits for new messages, in seconds. */
const WAIT_SECONDS = 25;

const TextSchema = v.object({ text: v.string() });

/** The calls of the page. Errors are texts for the developer. */
export interface InboxApi {
  list(): Promise<Result<Message[], string>>;
  getText(id: string): Promise<Result<string, string>>;
  /** Waits for a message after this one; without one for the next. Returns early if it was deleted. */
  waitForChange(latest: string | null): Promise<Result<null, string>>;
  markRead(ids: string[], isRead: boolean): Promise<Result<null, string>>;
  delete(id: string): Promise<Result<null, string>>;
  deleteAll(): Promise<Result<null, string>>;
  /** Returns the address that displays the HTML of a message. */
  previewUrl(id: string): string;
  /** Returns the address of a message in the format of RFC 5322. */
  sourceUrl(id: string): string;
}

/** Creates the calls; `token` is that of the inbox, or empty on the server's own machine. */
export function createInboxApi(token: string): InboxApi {
  const query = token ? `?token=${encodeURIComponent(token)}` : "";
  const headers: Record<string, string> = token ? { authorization: `Bearer ${token}` } : {};

  async function send(path: string, options: RequestInit = {}): Promise<Result<Response, string>> {
    try {
      const response = await fetch(BASE_PATH + path, { ...options, headers });
      // A message that is already deleted is no failure.
      if (response.ok || response.status === 404) return { ok: true, value: response };
      return { ok: false, error: `The server answered ${response.status}.` };
    } catch {
      return { ok: false, error: "The server does not answer." };
    }
  }

  async function read<Schema extends v.GenericSchema>(
    path: string,
    schema: Schema,
  ): Promise<Result<v.InferOutput<Schema>, string>> {
    const response = await send(path);
    if (!response.ok) return response;
    const body: unknown = await response.value.json().catch(() => null);
    const parsed = v.safeParse(schema, body);
    if (parsed.success) return { ok: true, value: parsed.output };
    return { ok: false, error: "The answer of the server cannot be read." };
  }

  async function change(path: string, options: RequestInit): Promise<Result<null, string>> {
    const response = await send(path, options);
    return response.ok ? { ok: true, value: null } : response;
  }

  return {
    async list() {
      const list = await read("/_dev/inbox/list", ListSchema);
      return list.ok ? { ok: true, value: list.value.messages } : list;
    },
    async getText(id) {
      const message = await read(`/_dev/messages/${id}`, TextSchema);
      return message.ok ? { ok: true, value: message.value.text } : message;
    },
    waitForChange(latest) {
      const after = latest === null ? "" : `&after=${latest}`;
      return change(`/_dev/messages?limit=1&wait=${WAIT_SECONDS}${after}`, {});
    },
    markRead(ids, isRead) {
      const body = JSON.stringify({ ids, read: isRead });
      return change("/_dev/inbox/read", { method: "POST", body });
    },
    delete: (id) => change(`/_dev/messages/${id}`, { method: "DELETE" }),
    deleteAll: () => change("/_dev/messages", { method: "DELETE" }),
    previewUrl: (id) => `${BASE_PATH}/_dev/inbox/${id}${query}`,
    sourceUrl: (id) => `${BASE_PATH}/_dev/messages/${id}/raw${query}`,
  };
}
