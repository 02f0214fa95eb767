import type { TestApi } from "./api.js";
import { type Duration, toMilliseconds } from "./duration.js";
import { BasaltError } from "./error.js";
import type { EmailNotification, EmailTemplate } from "./settings.js";

/** The longest wait of one request, in seconds. */
const MAX_WAIT = 30;
/**
 * How long a wait takes without a time-out, in milliseconds: vitest and Jest end a test after 5 seconds, and the message
 * that names what came has to be shown before.
 */
export const DEFAULT_TIMEOUT = 3000;
/** The largest number of messages of one request. */
const PAGE = 200;

/** What a message is for: as in `[auth.email.template.<kind>]`, a notification, or another message. */
export type MessageKind =
  | EmailTemplate
  | `${EmailNotification}_notification`
  | "application"
  | "order_delivery"
  | "order_notice"
  | "order_refund"
  | "sms_otp";

/** An e-mail or an SMS that the server would have sent. */
export interface Message {
  id: string;
  channel: "email" | "sms";
  /** The time by the clock of the world. */
  at: string;
  from: string;
  to: string;
  subject: string;
  kind: MessageKind;
  text: string;
  html: string;
  /** The code that the message contains. */
  code: string | null;
  /** The token hash of its link. */
  token_hash: string | null;
  /** The link to follow that the message contains. */
  link: string | null;
  /** All links that the message contains. */
  links: string[];
}

/** Which messages. */
export interface MessageFilter {
  /** The address or the number of the recipient. */
  to?: string;
  channel?: "email" | "sms";
  kind?: MessageKind;
  /** A part of the subject. */
  subject?: string;
}

/** Which messages, and which part of the list. */
export interface MessageQuery extends MessageFilter {
  /** The id of a message: only later ones. */
  after?: string;
  /** The largest number, up to 200. */
  limit?: number;
}

/** How long to wait. */
export interface WaitOptions {
  /** Real time; 3 seconds without it. */
  timeout?: Duration | undefined;
}

/** The messages of a world. */
export class WorldMessages {
  /** The messages that `wait` has returned. */
  private readonly returned = new Set<string>();

  constructor(private readonly api: TestApi) {}

  /** Returns the messages, oldest first. */
  async list(query: MessageQuery = {}): Promise<Message[]> {
    return await this.fetch({ ...query });
  }

  /**
   * Returns the oldest message that `wait` has not returned before, and waits for one.
   *
   * Each message is returned once: the second `wait` for the same address returns the second mail, not the first again.
   */
  async wait(filter: MessageFilter | string = {}, options: WaitOptions = {}): Promise<Message> {
    const wanted: MessageFilter = typeof filter === "string" ? { to: filter } : filter;
    const timeout = toMilliseconds(options.timeout ?? DEFAULT_TIMEOUT);
    const end = performance.now() + timeout;
    let after: string | undefined;
    for (;;) {
      const left = Math.max(0, (end - performance.now()) / 1000);
      const wait = Math.min(left, MAX_WAIT).toFixed(3);
      const page = await this.fetch({ ...wanted, after, wait, limit: PAGE });
      const found = page.find((message) => !this.returned.has(message.id));
      if (found) {
        this.returned.add(found.id);
        return found;
      }
      after = page.at(-1)?.id ?? after;
      if (page.length === 0 && performance.now() >= end)
        throw await this.timeoutError(wanted, timeout);
    }
  }

  /** Returns a message with the list of its attachments. */
  async get(id: string): Promise<Message & { attachments: unknown[] }> {
    return await this.api.call("GET", `/messages/${encodeURIComponent(id)}`);
  }

  /** Returns a message as it is sent (RFC 5322). */
  async raw(id: string): Promise<string> {
    const response = await this.api.send("GET", `/messages/${encodeURIComponent(id)}/raw`);
    return await response.text();
  }

  /** Deletes the messages, all of them without a filter. */
  async delete(filter: MessageFilter = {}): Promise<void> {
    await this.api.call("DELETE", "/messages", { query: { ...filter } });
  }

  private async fetch(query: Record<string, string | number | undefined>): Promise<Message[]> {
    const answer = await this.api.call<{ messages: Message[] }>("GET", "/messages", { query });
    return answer.messages;
  }

  private async timeoutError(wanted: MessageFilter, timeout: number): Promise<BasaltError> {
    const all = await this.list();
    const seen = all.map(({ kind, to, subject }) => `${kind} to ${to} (${subject})`);
    return new BasaltError(
      "message_timeout",
      `no new message ${JSON.stringify(wanted)} within ${timeout} ms`,
      seen.length === 0 ? "the world has no messages at all" : `its messages: ${seen.join("; ")}`,
    );
  }
}
