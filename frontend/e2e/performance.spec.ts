import type { CDPSession, Page } from "@playwright/test";
import { paths } from "../src/shared/paths.ts";
import { expect, test } from "./shop.ts";

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
  test(`the largest paint of ${path} comes within 1.5 s over a slow mobile network`, async ({
    page,
  }) => {
    await throttle(await page.context().newCDPSession(page));
    // A busy machine may slow down some attempts; a shop that is too large fails all of them.
    await expect(async () => {
      await page.goto(path, { waitUntil: "networkidle" });
      expect(await largestPaint(page)).toBeLessThan(1500);
    }).toPass({ intervals: [0], timeout: 30_000 });
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

/** A phone on a slow 4G network, as Lighthouse defines it: 1.6 Mbit/s, 150 ms, nothing cached. */
async function throttle(session: CDPSession): Promise<void> {
  await session.send("Network.enable");
  await session.send("Network.setCacheDisabled", { cacheDisabled: true });
  await session.send("Network.emulateNetworkConditions", {
    offline: false,
    latency: 150,
    downloadThroughput: 200_000,
    uploadThroughput: 90_000,
  });
}

function largestPaint(page: Page): Promise<number> {
  return page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        new PerformanceObserver((list) => {
          resolve(Math.max(...list.getEntries().map(({ startTime }) => startTime)));
        }).observe({ type: "largest-contentful-paint", buffered: true });
      }),
  );
}
