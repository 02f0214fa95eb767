import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";
import { compressedFiles } from "./build/compressed-files.ts";
import { developmentServer } from "./build/development-server.ts";
import { prerenderedPages } from "./build/prerendered-pages.ts";
import { programPrefetches } from "./build/program-prefetches.ts";
import { siteFiles } from "./build/site-files.ts";

export default defineConfig({
  plugins: [
    react(),
    tailwindcss(),
    programPrefetches(),
    siteFiles(),
    prerenderedPages(),
    compressedFiles(),
    developmentServer(),
  ],
  build: {
    target: "es2022",
    // The page's policy forbids inline scripts and data: addresses.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    // Each part is compiled on its own: one script of all would block the page of a phone for a noticeable time.
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: "react", test: /node_modules\/(react|react-dom|scheduler)\// },
            { name: "router", test: /node_modules\/react-router/ },
          ],
        },
      },
    },
  },
  test: {
    environment: "happy-dom",
    include: ["{src,build,desk,development,emails}/**/*.test.{ts,tsx}"],
    setupFiles: ["src/test-setup.ts"],
    // Bounds what hangs, not what is slow on a busy machine.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
