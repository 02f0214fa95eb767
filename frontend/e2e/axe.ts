import AxeBuilder from "@axe-core/playwright";
import type { Page } from "@playwright/test";

/**
 * Returns what axe finds on a page, but for what `excluded` selects.
 *
 * The page stands still meanwhile: colours of what is still appearing are mixed with those behind it.
 */
export async function findViolations(page: Page, excluded?: string) {
  await page.emulateMedia({ reducedMotion: "reduce" });
  const builder = new AxeBuilder({ page });
  return (await (excluded ? builder.exclude(excluded) : builder).analyze()).violations;
}
