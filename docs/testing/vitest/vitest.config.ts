import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    // One server for all workers; each test has a world of its own.
    globalSetup: ["@basalt/test/setup"],
    maxWorkers: 2,
  },
});
