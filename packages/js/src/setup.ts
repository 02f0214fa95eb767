import { startForProcesses } from "./server.js";

/** For `globalSetup` of vitest, Jest and Playwright: one server for all workers, which ends after the tests. */
export default async function setup(): Promise<() => Promise<void>> {
  return await startForProcesses();
}
