import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { compressedFiles } from "../build/compressed-files.ts";
import { shopFonts } from "../build/shop-fonts.ts";
import { standIn } from "./stand-in/plugin.ts";

/** Builds the owner's desk, which the server serves below `/_desk/`. Runs after the build of the shop. */
export default defineConfig({
  root: import.meta.dirname,
  base: "/_desk/",
  publicDir: false,
  plugins: [react(), tailwindcss(), shopFonts(), compressedFiles(), standIn()],
  build: {
    outDir: "../dist/_desk",
    emptyOutDir: true,
    target: "es2022",
    // The page's policy forbids inline scripts and data: addresses.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
});
