#!/usr/bin/env node
// Measures the pages of the shop with Lighthouse: tools/bench-shop.mjs [--runs 5] [--page /template/1] [--keep FOLDER]
//
// `--page link` is the page that a mailed link opens, with a new link for each run. For each page and form factor it prints the median score of each category, and the medians of the largest contentful
// paint and of the total blocking time. Fails if a median score is below its limit, or the blocking time of a phone above
// its limit. Needs an idle machine, Chromium and the release binary (BASALT_BIN).
// npx installs Lighthouse.
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs, promisify } from "node:util";
import { mailsTo, startBasalt } from "../frontend/e2e/basalt.mjs";

const LIGHTHOUSE = "lighthouse@12.8.2";
/** The page that a mailed link opens; it tells search engines not to list it, which Lighthouse scores as a fault. */
const LINK = "link";
const PAGES = ["/", "/template/1", "/submit", "/orders", LINK];
const FORM_FACTORS = { mobile: [], desktop: ["--preset=desktop"] };
const CATEGORIES = ["performance", "accessibility", "best-practices", "seo"];
const LIMIT = 95;
/** The largest median of the total blocking time on a phone, in milliseconds. */
const BLOCKING_LIMIT = 200;
const ATTEMPTS = 3;
const CHROME_FLAGS = "--headless=new --no-sandbox --disable-gpu";

const { values: options } = parseArgs({
  options: {
    runs: { type: "string", default: "5" },
    page: { type: "string", multiple: true, default: PAGES },
    keep: { type: "string" },
  },
});
const runs = Number(options.runs);
if (!Number.isInteger(runs) || runs < 1) {
  console.error(`--runs ${options.runs} is not a number of runs: use 1 or more.`);
  process.exit(1);
}

/** Returns the scores of one run in percent, the largest contentful paint and the total blocking time in milliseconds. */
async function measure(url, flags, file) {
  // Now and then Chromium records no trace, and Lighthouse asks to be run again.
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await measureOnce(url, flags, file);
    } catch (error) {
      if (attempt === ATTEMPTS) throw error;
      console.error(`${url}: ${error.message.trim().split("\n").at(-1)}; again`);
    }
  }
}

async function measureOnce(url, flags, file) {
  await promisify(execFile)(
    "npx",
    ["--yes", LIGHTHOUSE, url, "--quiet", "--output=json", `--output-path=${file}`, ...flags,
      `--only-categories=${CATEGORIES.join(",")}`, `--chrome-flags=${CHROME_FLAGS}`],
    { env: { ...process.env, CHROME_PATH: process.env.CHROMIUM_BIN ?? "/usr/bin/chromium" } },
  );
  const report = JSON.parse(await readFile(file, "utf8"));
  if (report.runtimeError) throw new Error(`${url}: ${report.runtimeError.message}`);
  const scores = CATEGORIES.map((name) => Math.round(report.categories[name].score * 100));
  const times = ["largest-contentful-paint", "total-blocking-time"].map((name) => report.audits[name].numericValue);
  return [...scores, ...times];
}

/** Returns the URL of a page; of the page of mailed links, the link in the mail of a new sign-up. */
async function urlOf(page, basalt) {
  if (page !== LINK) return new URL(page, basalt.url).href;
  const email = `${randomUUID()}@example.com`;
  const answer = await fetch(new URL("/auth/v1/signup", basalt.url), {
    method: "POST",
    headers: { apikey: basalt.publishableKey, "content-type": "application/json" },
    body: JSON.stringify({ email, password: randomUUID() }),
  });
  if (!answer.ok) throw new Error(`the sign-up answered ${answer.status}: ${await answer.text()}`);
  const [mail] = await mailsTo(basalt.inboxUrl, email);
  return mail.link;
}

function median(values) {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)];
}

const folder = options.keep ?? (await mkdtemp(join(tmpdir(), "basalt-lighthouse-")));
await mkdir(folder, { recursive: true });
const basalt = await startBasalt();
const failures = [];
try {
  console.info(`Median of ${runs} runs\n\n| page | | ${CATEGORIES.join(" | ")} | LCP | TBT |\n|---|---|---:|---:|---:|---:|---:|---:|`);
  for (const page of options.page) {
    for (const [formFactor, flags] of Object.entries(FORM_FACTORS)) {
      const results = [];
      for (let run = 1; run <= runs; run += 1) {
        const name = `${page.replaceAll("/", "_")}-${formFactor}-${run}.json`;
        results.push(await measure(await urlOf(page, basalt), flags, join(folder, name)));
      }
      const medians = results[0].map((_, column) => median(results.map((result) => result[column])));
      const scores = medians.slice(0, CATEGORIES.length);
      const [paint, blocking] = medians.slice(CATEGORIES.length);
      const times = `${(paint / 1000).toFixed(2)} s | ${Math.round(blocking)} ms`;
      console.info(`| ${page} | ${formFactor} | ${scores.join(" | ")} | ${times} |`);
      scores.forEach((score, column) => {
        if (page === LINK && CATEGORIES[column] === "seo") return;
        if (score < LIMIT) failures.push(`${page} ${formFactor} ${CATEGORIES[column]} ${score} is below ${LIMIT}`);
      });
      if (formFactor === "mobile" && blocking > BLOCKING_LIMIT) {
        failures.push(`${page} ${formFactor} TBT ${Math.round(blocking)} ms is above ${BLOCKING_LIMIT} ms`);
      }
    }
  }
} finally {
  await basalt.stop();
  if (options.keep === undefined) await rm(folder, { recursive: true, force: true });
}
if (failures.length > 0) {
  console.error(failures.join("\n"));
  process.exit(1);
}
