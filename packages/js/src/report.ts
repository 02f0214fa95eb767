import type { WorldEvent } from "./events.js";
import type { Message } from "./messages.js";
import type { World } from "./world.js";

/** The largest number of events of a report: the last ones. */
const MAX_EVENTS = 100;

/** What happened in the world of a failed test. */
export interface WorldReport {
  id: string;
  url: string;
  /** The last events: requests, decisions, audit entries, messages. */
  events: WorldEvent[];
  /** The mails and SMS, without their bodies. */
  messages: Pick<Message, "id" | "at" | "channel" | "kind" | "to" | "subject">[];
}

/** Reads what happened in a world; a list that cannot be read is empty. */
export async function reportWorld(world: World): Promise<WorldReport> {
  const events = await world.events.list().catch(() => []);
  const messages = await world.messages.list().catch(() => []);
  return {
    id: world.id,
    url: world.url,
    events: events.slice(-MAX_EVENTS),
    messages: messages.map(({ id, at, channel, kind, to, subject }) => ({
      id,
      at,
      channel,
      kind,
      to,
      subject,
    })),
  };
}

/** Formats a report as the lines that a test runner shows below a failed test. */
export function formatReport(report: WorldReport): string {
  const events = report.events.map(
    ({ kind, at, data }) => `  ${at} ${kind} ${JSON.stringify(data)}`,
  );
  const messages = report.messages.map(
    ({ at, kind, to, subject }) => `  ${at} ${kind} to ${to} (${subject})`,
  );
  return [
    `world ${report.id} (${report.url})`,
    "events:",
    ...(events.length > 0 ? events : ["  none"]),
    "messages:",
    ...(messages.length > 0 ? messages : ["  none"]),
  ].join("\n");
}
