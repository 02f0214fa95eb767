import type { TestFixtures, WorkerFixtures } from "@basalt/test/playwright";
import { defineConfig } from "@playwright/test";

const PORT = Number(process.env.PORT ?? 41739);
/** The URL that the application is built with; no server listens there: the requests reach the world of the test. */
const SUPABASE_URL = "http://127.0.0.1:54321";

export default defineConfig<TestFixtures, WorkerFixtures>({
  testDir: "tests",
  workers: 1,
  reporter: [["list"]],
  // One server for all workers.
  globalSetup: "@basalt/test/setup",
  webServer: {
    command: `vite --host 127.0.0.1 --port ${PORT} --strictPort`,
    port: PORT,
    env: { VITE_SUPABASE_URL: SUPABASE_URL, VITE_SUPABASE_KEY: "sb_publishable_of_the_build" },
  },
  use: {
    baseURL: `http://127.0.0.1:${PORT}`,
    supabaseUrl: SUPABASE_URL,
    launchOptions: {
      ...(process.env.CHROMIUM_BIN ? { executablePath: process.env.CHROMIUM_BIN } : {}),
      args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
    },
  },
});
