import { defineConfig } from "@playwright/test";

/** The browser tests run against the real binary; each worker starts one of its own: see `e2e/shop.ts`. */
export default defineConfig({
  testDir: "e2e",
  workers: 2,
  timeout: 45_000,
  expect: { timeout: 10_000 },
  forbidOnly: Boolean(process.env.CI),
  reporter: [["list"]],
  projects: [
    { name: "screens", testMatch: "*.spec.ts", testIgnore: "performance.spec.ts" },
    // Alone, so that no other test is measured with it.
    { name: "performance", testMatch: "performance.spec.ts", dependencies: ["screens"] },
  ],
  use: {
    launchOptions: {
      executablePath: process.env.CHROMIUM_BIN ?? "/usr/bin/chromium",
      // Without a sandbox and shared memory it also runs as root in a container.
      args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
    },
    trace: "retain-on-failure",
  },
});
