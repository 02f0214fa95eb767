import type { TestApi } from "./api.js";
import type { ExternalProvider, HookName } from "./settings.js";

/** Which operations a fault affects. */
export interface FaultMatch {
  method?: string;
  /** The path below the world's URL; `*` stands for any characters, and with `?` the query counts. */
  path?: string;
  /** Only the n-th matching operation, from 1. */
  nth?: number;
  /** The id or the address of the user of the request. */
  user?: string;
  /** The share of matching operations, from 0 to 1. */
  probability?: number;
}

/** What a fault does. */
export interface FaultAction {
  status?: number;
  /** A code of the error catalogue, such as `over_request_rate_limit`. */
  error_code?: string;
  body?: unknown;
  delay_ms?: number;
  /** Closes the connection without a response. */
  drop?: boolean;
  /** Closes the connection after so many bytes of the body. */
  truncate?: number;
  /** Seconds of the header `Retry-After`. */
  retry_after?: number;
  /** For other targets than `http`; `bounce` is of `smtp`, the last three of `database`. */
  failure?:
    | "refuse"
    | "hang"
    | "slow"
    | "bounce"
    | "serialization_failure"
    | "lost_connection"
    | "read_only";
}

/** A rule for faults. */
export interface NewFault {
  match?: FaultMatch;
  /** `http` without it. */
  target?:
    | "http"
    | "smtp"
    | "sms"
    | "database"
    | `hook:${HookName}`
    | `provider:${ExternalProvider}`
    | `provider:custom:${string}`;
  do: FaultAction;
  /** The largest number of affected operations. */
  count?: number;
}

/** A rule with the number of operations that it affected. */
export interface Fault {
  id: string;
  hits: number;
}

/** The faults of a world. */
export class WorldFaults {
  constructor(private readonly api: TestApi) {}

  /** Adds a rule. */
  async add(fault: NewFault): Promise<Fault> {
    return await this.api.call("POST", "/faults", { body: fault });
  }

  /** Returns the rules, oldest first. */
  async list(): Promise<(NewFault & Fault)[]> {
    return (await this.api.call<{ faults: (NewFault & Fault)[] }>("GET", "/faults")).faults;
  }

  /** Removes a rule, or all of them. */
  async clear(fault?: string | Pick<Fault, "id">): Promise<void> {
    const id = typeof fault === "object" ? fault.id : fault;
    await this.api.call(
      "DELETE",
      id === undefined ? "/faults" : `/faults/${encodeURIComponent(id)}`,
    );
  }
}
