import type { Query, TestApi } from "./api.js";
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
  /** The id of an event: only later ones; `now` leaves out all that there are. */
  after?: number | "now";
  kind?: WorldEvent["kind"];
  /** The id of a user. */
  user?: string;
  /** Waits so long in real time if there is none; rounded up to seconds, at most a minute. */
  wait?: Duration;
}

/** The events of a world: requests, decisions, audit entries, messages. */
export class WorldEvents {
  constructor(private readonly api: TestApi) {}

  /** Returns events, oldest first. */
  async list(query: EventQuery = {}): Promise<WorldEvent[]> {
    const { wait, ...rest } = query;
    const seconds = wait === undefined ? undefined : Math.ceil(toMilliseconds(wait) / 1000);
    return await this.fetch({ ...rest, wait: seconds });
  }

  /** Returns events one after the other and waits for the next, until `signal` ends it or the loop is left. */
  async *stream(
    query: Omit<EventQuery, "wait"> = {},
    signal?: AbortSignal,
  ): AsyncGenerator<WorldEvent> {
    let after = query.after;
    while (!signal?.aborted) {
      const listed = await this.fetch({ ...query, after, wait: 30 }, signal).catch(
        (error: unknown) => {
          if (signal?.aborted) return [];
          throw error;
        },
      );
      yield* listed;
      after = listed.at(-1)?.id ?? after;
    }
  }

  private async fetch(query: Query, signal?: AbortSignal): Promise<WorldEvent[]> {
    const answer = await this.api.call<{ events: WorldEvent[] }>("GET", "/events", {
      query,
      signal,
    });
    return answer.events;
  }
}
