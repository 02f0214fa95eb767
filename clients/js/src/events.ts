import type { TestApi } from "./api.js";
import { type Duration, toMilliseconds } from "./duration.js";

/** What happened in a world. */
export interface WorldEvent {
  /** Later events have greater ids. */
  id: number;
  kind: "request" | "decision" | "audit" | "message";
  /** The time by the clock of the world. */
  at: string;
  request_id: string;
  user_id: string | null;
  /** The members of this kind; `action` and more for an audit entry. */
  data: Record<string, unknown>;
}

/** Which events. */
export interface EventQuery {
  /** The id of an event: only later ones. */
  after?: number;
  kind?: WorldEvent["kind"];
  /** The id of a user. */
  user?: string;
  /** Waits so long in real time if there is none. */
  wait?: Duration;
}

/** The events of a world: requests, decisions, audit entries, messages. */
export class WorldEvents {
  constructor(private readonly api: TestApi) {}

  /** Returns events, oldest first. */
  async list(query: EventQuery = {}): Promise<WorldEvent[]> {
    const { wait, ...rest } = query;
    const seconds = wait === undefined ? undefined : toMilliseconds(wait) / 1000;
    const answer = await this.api.call<{ events: WorldEvent[] }>("GET", "/events", {
      query: { ...rest, wait: seconds },
    });
    return answer.events;
  }

  /** Returns events one after the other and waits for the next, until `signal` ends it or the loop is left. */
  async *stream(
    query: Omit<EventQuery, "wait"> = {},
    signal?: AbortSignal,
  ): AsyncGenerator<WorldEvent> {
    let after = query.after;
    while (!signal?.aborted) {
      const listed = await this.api
        .call<{ events: WorldEvent[] }>("GET", "/events", {
          query: { ...query, after, wait: 30 },
          signal,
        })
        .catch((error: unknown) => {
          if (signal?.aborted) return { events: [] };
          throw error;
        });
      yield* listed.events;
      after = listed.events.at(-1)?.id ?? after;
    }
  }
}
