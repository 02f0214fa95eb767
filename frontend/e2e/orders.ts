import { fileURLToPath } from "node:url";
import { test as base, expect } from "@playwright/test";
import { mailsTo, startBasalt } from "./basalt.mjs";

type Basalt = Awaited<ReturnType<typeof startBasalt>>;

const PRODUCTS = fileURLToPath(new URL("../products", import.meta.url));

/** A test with a binary per worker that delivers the products of the build. */
export const test = base.extend<object, { basalt: Basalt }>({
  basalt: [
    async ({ browserName: _ }, use) => {
      const payment = `[basalt.shop.payment]\nproducts = "${PRODUCTS}"\n`;
      const basalt = await startBasalt((config) => `${config}\n${payment}`);
      await use(basalt);
      await basalt.stop();
    },
    { scope: "worker", timeout: 60_000 },
  ],
  baseURL: async ({ basalt }, use) => use(basalt.url),
});

export { expect, mailsTo };
