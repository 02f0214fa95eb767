/**
 * Isolated backends of the Supabase auth API for tests: worlds with a virtual clock, messages, faults and sessions.
 *
 * @module
 */
export type * from "./accounts.js";
export type { ClientOptions } from "./client.js";
export type { ClockOptions, ClockState, PageWithClock, WorldClock } from "./clock.js";
export type { Duration } from "./duration.js";
export { BasaltError } from "./error.js";
export type { EventQuery, WorldEvent, WorldEvents } from "./events.js";
export type { Fault, FaultAction, FaultMatch, NewFault, WorldFaults } from "./faults.js";
export {
  type AuditFilter,
  type BasaltMatchers,
  type MailFilter,
  matchers,
} from "./matchers.js";
export type {
  Message,
  MessageFilter,
  MessageKind,
  MessageQuery,
  WaitOptions,
  WorldMessages,
} from "./messages.js";
export type { ServeOptions } from "./process.js";
export { formatReport, reportWorld, type WorldReport } from "./report.js";
export { Basalt, type StartOptions, startBasalt } from "./server.js";
export type * from "./settings.js";
export type * from "./webauthn.js";
export {
  type NewWorld,
  type NextSignIn,
  type SettingsChange,
  type SignInScenario,
  World,
  type WorldDescription,
} from "./world.js";
