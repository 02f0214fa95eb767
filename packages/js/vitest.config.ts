import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["./src/setup.ts"],
    maxWorkers: 2,
    testTimeout: 20_000,
  },
});
