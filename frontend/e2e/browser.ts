const ARGUMENTS = [
  // Without a sandbox and shared memory it also runs as root in a container.
  "--no-sandbox",
  "--disable-dev-shm-usage",
  "--disable-gpu",
  // As Chromium with windows draws: the headless shell moves outlines to whole pixels otherwise.
  "--font-render-hinting=none",
];

/** How the browser of the tests is started: `CHROMIUM_BIN`, which may be the headless shell. */
export const BROWSER = {
  executablePath: process.env.CHROMIUM_BIN ?? "/usr/bin/chromium",
  args: ARGUMENTS,
};

/** The browser with its viewer of documents, which the headless shell lacks. */
export const BROWSER_WITH_VIEWER = {
  executablePath: process.env.CHROMIUM_WITH_VIEWER ?? BROWSER.executablePath,
  args: ARGUMENTS,
};
