import type { CDPSession, Page, Route } from "@playwright/test";
import { paths } from "../src/shared/paths.ts";
import { expect, startProgram, test } from "./shop.ts";

test.use({ viewport: { width: 390, height: 700 }, deviceScaleFactor: 2, isMobile: true });

test("the first screen of a phone stays within its budget", async ({ page }) => {
  const wire = await measureWire(page);
  await page.goto(paths.catalogue, { waitUntil: "networkidle" });
  expect(wire.script / 1000).toBeLessThanOrEqual(110);
  expect(wire.total / 1000).toBeLessThanOrEqual(1000);
});

test("nothing shifts while it loads", async ({ page }) => {
  await page.addInitScript(() => {
    Object.assign(window, { shift: 0 });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        (window as unknown as { shift: number }).shift += (
          entry as unknown as { value: number }
        ).value;
      }
    }).observe({ type: "layout-shift", buffered: true });
  });
  await throttle(await page.context().newCDPSession(page));
  for (const path of [paths.catalogue, paths.template(1), paths.submission]) {
    await page.goto(path, { waitUntil: "networkidle" });
    const shift = await page.evaluate(() => (window as unknown as { shift: number }).shift);
    expect(shift, path).toBeLessThan(0.01);
  }
});

for (const path of [paths.catalogue, paths.template(1), paths.template(9), paths.submission]) {
  test(`the first view of ${path} comes within 1.5 s over a slow mobile network`, async ({
    page,
  }) => {
    const requests = await listRequests(page);
    await page.goto(path, { waitUntil: "networkidle" });
    const urgent = requests.filter(({ priority }) => /High$/.test(priority));
    const painted = urgent.filter(({ type }) => /Document|Stylesheet|Font|Image/.test(type));
    // The connection, the document, and what it names: nothing that is painted waits for a script.
    const late = painted.filter(
      ({ type, initiator }) => type !== "Document" && initiator !== "parser",
    );
    expect(late).toEqual([]);
    const bytes = painted.reduce((sum, { size }) => sum + size, 0);
    expect(painted.length).toBeGreaterThanOrEqual(4);
    // Calculated, so that the speed of the machine does not count.
    const duration = 3 * SLOW_NETWORK.latency + (bytes / SLOW_NETWORK.downloadThroughput) * 1000;
    expect(duration).toBeLessThan(1500);
  });
}

for (const path of [paths.catalogue, paths.template(1), paths.submission]) {
  test(`the program of ${path} is fetched, and waits for a visitor`, async ({ page }) => {
    const scripts: string[] = [];
    page.on("requestfinished", (request) => scripts.push(new URL(request.url()).pathname));
    await page.goto(path, { waitUntil: "networkidle" });
    await expect
      .poll(() => scripts.filter((name) => /\/(start|react|router)-.*\.js$/.test(name)))
      .toHaveLength(3);
    expect(await isStarted(page)).toBe(false);
    await page.mouse.move(1, 1);
    await page.mouse.move(2, 2);
    await expect.poll(() => isStarted(page)).toBe(true);
  });
}

test("a click without any other sign starts the program", async ({ page }) => {
  await page.goto(paths.template(1), { waitUntil: "networkidle" });
  const tab = page.getByRole("tab", { name: "Phone" });
  await tab.evaluate((button: HTMLElement) => button.click());
  await expect(tab).toHaveAttribute("aria-selected", "true");
});

test("a text that was entered earlier starts the program of the form at once", async ({ page }) => {
  await page.goto(paths.submission);
  await page.getByRole("textbox", { name: "Details" }).fill("A card for spring");
  await expect
    .poll(() => page.evaluate(() => sessionStorage.getItem("submission.text")))
    .toBe("A card for spring");
  await page.goto(paths.submission);
  await expect(page.getByRole("textbox", { name: "Details" })).toHaveValue("A card for spring");
});

test("a filter that was used before the program has started leads back from a template", async ({
  page,
}) => {
  await page.goto(`${paths.catalogue}?category=Research`, { waitUntil: "networkidle" });
  expect(await isStarted(page)).toBe(false);
  await page.goto(paths.template(7));
  await startProgram(page);
  await page.getByRole("link", { name: "Back to Templates" }).first().click();
  await expect(page).toHaveURL(`${paths.catalogue}?category=Research`);
});

test("the program answers what came before it", async ({ page }) => {
  await page.goto(paths.template(1), { waitUntil: "networkidle" });
  expect(await isStarted(page)).toBe(false);
  const answers: (() => void)[] = [];
  await page.route("**/assets/page-*.js", async (route) => {
    await new Promise<void>((resolve) => answers.push(resolve));
    await route.continue();
  });
  const tab = page.getByRole("tab", { name: "Phone" });
  await tab.click();
  await expect.poll(() => answers.length).toBeGreaterThan(0);
  await expect(tab).toHaveAttribute("aria-selected", "false");
  for (const answer of answers) answer();
  await expect(tab).toHaveAttribute("aria-selected", "true");
});

test("a filter that comes before the program is answered by the program", async ({ page }) => {
  // A busy machine may take longer than a filter waits.
  await page.addInitScript(() => {
    const start = window.setTimeout;
    const isShort = (duration?: number) => duration === undefined || duration < 1000;
    Object.assign(window, {
      setTimeout: (task: TimerHandler, duration?: number) =>
        isShort(duration) ? start(task, duration) : 0,
    });
  });
  await page.goto(paths.catalogue, { waitUntil: "networkidle" });
  await page.evaluate(() => Object.assign(window, { isFirst: true }));
  await page.getByRole("button", { name: "Research" }).click();
  await expect(page).toHaveURL(`${paths.catalogue}?category=Research`);
  await expect(page.getByRole("heading", { level: 2 })).toHaveCount(1);
  expect(await page.evaluate(() => "isFirst" in window)).toBe(true);
});

for (const [title, answer] of [
  ["cannot be loaded", (route: Route) => route.abort()],
  ["does not come", () => undefined],
] as const) {
  test(`a filter is sent as a form when the program ${title}`, async ({ page }) => {
    await page.route("**/assets/start-*.js", answer);
    await page.goto(paths.catalogue, { waitUntil: "domcontentloaded" });
    await page.evaluate(() => Object.assign(window, { isFirst: true }));
    await page.getByRole("button", { name: "Research" }).click();
    await expect(page).toHaveURL(`${paths.catalogue}?category=Research`);
    await expect(page.getByRole("heading", { level: 2 })).toHaveCount(1);
    expect(await page.evaluate(() => "isFirst" in window)).toBe(false);
  });
}

test("nothing is loaded from other origins", async ({ page, basalt }) => {
  const foreign: string[] = [];
  page.on("request", (request) => {
    if (!request.url().startsWith(basalt.url)) foreign.push(request.url());
  });
  for (const path of [paths.catalogue, paths.template(1), paths.submission]) {
    await page.goto(path, { waitUntil: "networkidle" });
  }
  expect(foreign).toEqual([]);
});

/** Returns whether the program has begun to take over the page. */
async function isStarted(page: Page): Promise<boolean> {
  return await page
    .locator("#root")
    .evaluate((root) => Object.keys(root).some((key) => key.startsWith("__react")));
}

/** Transferred bytes, with headers. */
async function measureWire(page: Page): Promise<{ script: number; total: number }> {
  const sums = { script: 0, total: 0 };
  const scripts = new Set<string>();
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  session.on("Network.responseReceived", ({ requestId, type }) => {
    if (type === "Script") scripts.add(requestId);
  });
  session.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
    sums.total += encodedDataLength;
    if (scripts.has(requestId)) sums.script += encodedDataLength;
  });
  return sums;
}

/** A slow 4G network, as Lighthouse defines it: 1.6 Mbit/s, 150 ms. */
const SLOW_NETWORK = { latency: 150, downloadThroughput: 200_000, uploadThroughput: 90_000 };

/** Lets a page load over a slow network, nothing cached. */
async function throttle(session: CDPSession): Promise<void> {
  await session.send("Network.enable");
  await session.send("Network.setCacheDisabled", { cacheDisabled: true });
  await session.send("Network.emulateNetworkConditions", { offline: false, ...SLOW_NETWORK });
}

/** The requests of a page from now on, with the bytes transferred so far. */
async function listRequests(
  page: Page,
): Promise<{ type: string; priority: string; initiator: string; size: number }[]> {
  const requests: Awaited<ReturnType<typeof listRequests>> = [];
  const byId = new Map<string, (typeof requests)[number]>();
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  session.on("Network.requestWillBeSent", ({ requestId, request, initiator, type = "Other" }) => {
    const sent = {
      type,
      priority: request.initialPriority,
      initiator: initiator.type,
      size: 0,
    };
    byId.set(requestId, sent);
    requests.push(sent);
  });
  session.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
    const finished = byId.get(requestId);
    if (finished) finished.size = encodedDataLength;
  });
  return requests;
}
