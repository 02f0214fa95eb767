import { toMilliseconds } from "./duration.js";
import { textOf } from "./error.js";
import type { WorldEvent } from "./events.js";
import { DEFAULT_TIMEOUT, type Message, type MessageFilter, type WaitOptions } from "./messages.js";
import { World } from "./world.js";

/** What a matcher returns to `expect`. */
export interface MatcherResult {
  pass: boolean;
  message: () => string;
}

/** An expected audit entry. */
export interface AuditFilter extends WaitOptions {
  /** The id of the user. */
  user?: string;
}

/** An expected message. */
export type MailFilter = Omit<MessageFilter, "to"> & WaitOptions;

/** The matchers for `expect.extend`, as they are called. */
export interface BasaltMatchers {
  /** Expects a message of the world to this recipient; waits up to 3 seconds. */
  toHaveMailed(to: string, filter?: MailFilter): Promise<void>;
  /** Expects an audit entry with this action, such as `login`; waits up to 3 seconds. */
  toHaveAudited(action: string, filter?: AuditFilter): Promise<void>;
}

/** What `expect` passes to a matcher. */
export interface MatcherContext {
  isNot?: boolean;
}

const INTERVAL = 50;

/** Implementations for `expect.extend`. */
export const matchers = {
  /** Compares with the messages of the world. A negated one waits for nothing. */
  async toHaveMailed(
    this: MatcherContext,
    world: unknown,
    to: string,
    filter: MailFilter = {},
  ): Promise<MatcherResult> {
    const { timeout, ...wanted } = filter;
    const list = async () => await worldOf(world).messages.list({ ...wanted, to });
    const found = await poll(list, this.isNot ? 0 : timeout);
    const all = found.length > 0 ? found : await worldOf(world).messages.list();
    return {
      pass: found.length > 0,
      message: () =>
        `expected the world ${this.isNot ? "not " : ""}to have mailed ${to}${formatFilter(wanted)}; its messages: ${formatMessages(all)}`,
    };
  },

  /** Compares with the audit entries of the world. A negated one waits for nothing. */
  async toHaveAudited(
    this: MatcherContext,
    world: unknown,
    action: string,
    filter: AuditFilter = {},
  ): Promise<MatcherResult> {
    const { timeout, user } = filter;
    const query = user === undefined ? {} : { user };
    let all: WorldEvent[] = [];
    const list = async () => {
      all = await worldOf(world).events.list({ kind: "audit", ...query });
      return all.filter((event) => textOf(event.data, "action") === action);
    };
    const found = await poll(list, this.isNot ? 0 : timeout);
    const actions = all.map((event) => textOf(event.data, "action") ?? "?").join(", ");
    return {
      pass: found.length > 0,
      message: () =>
        `expected the world ${this.isNot ? "not " : ""}to have audited ${action}${formatFilter(query)}; its entries: ${actions || "none"}`,
    };
  },
};

function worldOf(value: unknown): World {
  if (value instanceof World) return value;
  throw new TypeError("expect() needs a world, as basalt.world() returns it");
}

/** Repeats a list until it has an entry, or the time is over. */
async function poll<T>(list: () => Promise<T[]>, timeout: WaitOptions["timeout"]): Promise<T[]> {
  const milliseconds = timeout === undefined ? DEFAULT_TIMEOUT : toMilliseconds(timeout);
  const end = performance.now() + milliseconds;
  for (;;) {
    const found = await list();
    if (found.length > 0 || performance.now() >= end) return found;
    await new Promise((resolve) => setTimeout(resolve, INTERVAL));
  }
}

function formatFilter(filter: object): string {
  return Object.keys(filter).length === 0 ? "" : ` ${JSON.stringify(filter)}`;
}

function formatMessages(messages: Message[]): string {
  return messages.map(({ kind, to }) => `${kind} to ${to}`).join(", ") || "none";
}
