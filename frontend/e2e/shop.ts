import { test as base, expect, type Page } from "@playwright/test";
import { paths } from "../src/shared/paths.ts";
import { mailsTo, startBasalt } from "./basalt.mjs";

type Basalt = Awaited<ReturnType<typeof startBasalt>>;

/** A page whose shop is served by a binary of this worker's own. */
export const test = base.extend<{ unhurt: undefined }, { basalt: Basalt }>({
  basalt: [
    async ({ browserName: _ }, use) => {
      const basalt = await startBasalt();
      await use(basalt);
      await basalt.stop();
    },
    { scope: "worker", timeout: 60_000 },
  ],
  baseURL: async ({ basalt }, use) => use(basalt.url),
  // Whatever a test looks at: no script may fail and the page's own policy may not be broken.
  unhurt: [
    async ({ page }, use) => {
      const harm: string[] = [];
      page.on("pageerror", (error) => harm.push(error.message));
      page.on("console", (message) => {
        if (/Content.Security.Policy/i.test(message.text())) harm.push(message.text());
      });
      await use(undefined);
      expect(harm).toEqual([]);
    },
    { auto: true },
  ],
});

export { expect, mailsTo };

/** Every screen, under a name for the title of a test. */
export const SCREENS = {
  catalogue: paths.catalogue,
  "a filtered catalogue": `${paths.catalogue}?category=Corporate`,
  "a template with a payment link": paths.template(1),
  "a template made to order": paths.template(9),
  submission: paths.submission,
  "an unknown template": paths.template(99),
  "an unknown path": "/nowhere",
} as const;

/** What the page writes to the console as an error, from now on. */
export function consoleErrors(page: Page): string[] {
  const errors: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  return errors;
}
