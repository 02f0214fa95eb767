import { test as base, expect, type Page } from "@playwright/test";
import { paths } from "../src/shared/paths.ts";
import { mailsTo, startBasalt } from "./basalt.mjs";

type Basalt = Awaited<ReturnType<typeof startBasalt>>;

/** A test with a page, and a binary per worker that serves the shop. */
export const test = base.extend<{ noPageErrors: undefined }, { basalt: Basalt }>({
  basalt: [
    async ({ browserName: _ }, use) => {
      const basalt = await startBasalt();
      await use(basalt);
      await basalt.stop();
    },
    { scope: "worker", timeout: 180_000 },
  ],
  baseURL: async ({ basalt }, use) => use(basalt.url),
  // In every test: no script fails, and the Content Security Policy is not violated.
  noPageErrors: [
    async ({ page }, use) => {
      const problems: string[] = [];
      page.on("pageerror", (error) => problems.push(error.message));
      page.on("console", (message) => {
        if (/Content.Security.Policy/i.test(message.text())) problems.push(message.text());
      });
      await use(undefined);
      expect(problems).toEqual([]);
    },
    { auto: true },
  ],
});

export { expect, mailsTo };

/** The path of every screen, by its name in test titles. */
export const SCREENS = {
  catalogue: paths.catalogue,
  "a filtered catalogue": `${paths.catalogue}?category=Corporate`,
  "a template with a payment link": paths.template(1),
  "a template made to order": paths.template(9),
  submission: paths.submission,
  "an unknown template": paths.template(99),
  "an unknown path": "/nowhere",
} as const;

/** The path of every template. */
export const TEMPLATES = Array.from({ length: 12 }, (_, index) => paths.template(index + 1));

/** Does what a visitor does, and waits until the program has taken over the page. */
export async function startProgram(page: Page): Promise<void> {
  await page.mouse.move(1, 1);
  await page.mouse.move(2, 2);
  const isStarted = (root: HTMLElement | SVGElement) => {
    const [, fiber] =
      Object.entries(root).find(([key]) => key.startsWith("__reactContainer")) ?? [];
    // Until then the elements are those of the server, and differences from them are not reported yet.
    return fiber?.stateNode.current.memoizedState.isDehydrated === false;
  };
  await expect.poll(() => page.locator("#root").evaluate(isStarted)).toBe(true);
}

/** Opens a page and waits until its script has taken over the buttons: until then a form is sent as a document. */
export async function openWithScript(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await startProgram(page);
  const isTakenOver = (button: HTMLElement | SVGElement) =>
    Object.keys(button).some((key) => key.startsWith("__reactProps"));
  await expect
    .poll(() => page.getByRole("main").getByRole("button").first().evaluate(isTakenOver))
    .toBe(true);
}

/** Returns the list of console errors of the page from now on. */
export function consoleErrors(page: Page): string[] {
  const errors: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  return errors;
}
