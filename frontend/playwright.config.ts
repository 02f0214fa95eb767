import { availableParallelism } from "node:os";
import { defineConfig } from "@playwright/test";
import { BROWSER, BROWSER_WITH_VIEWER } from "./e2e/browser.ts";

/** The browser tests run against the real binary; each worker starts one of its own: see `e2e/shop.ts`. */
export default defineConfig({
  testDir: "e2e",
  // Tests wait for pages and servers (docs/build-times.md).
  workers: availableParallelism() + 1,
  // Bounds of what hangs, not of what is slow: a busy machine may take several times as long as an idle one.
  timeout: 180_000,
  expect: { timeout: 30_000 },
  forbidOnly: Boolean(process.env.CI),
  reporter: [["list"]],
  projects: [
    { name: "screens", testMatch: "*.spec.ts", testIgnore: "performance.spec.ts" },
    // Alone, so that no other test is measured with it, and in the browser that visitors have: the headless shell
    // reports a movement of the mouse to a new page, which starts its program.
    {
      name: "performance",
      testMatch: "performance.spec.ts",
      dependencies: ["screens"],
      use: { launchOptions: BROWSER_WITH_VIEWER },
    },
  ],
  use: {
    launchOptions: BROWSER,
    // A trace makes the tests half as slow again: `npx playwright test --trace on FILE` records one.
    trace: "off",
    screenshot: "only-on-failure",
  },
});
