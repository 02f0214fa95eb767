import { realpathSync } from "node:fs";
import { defineConfig } from "vite";

export default defineConfig({
  // The examples share their packages by a link.
  server: { fs: { allow: [".", realpathSync("../node_modules")] } },
});
