import { expect, test } from "vitest";
import { describeBrowser } from "./model.ts";

test("browser and system are read from the user agent", () => {
  expect(
    describeBrowser("Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko Firefox/140.0"),
  ).toBe("Firefox on Windows");
  expect(
    describeBrowser(
      "Mozilla/5.0 (Macintosh; Intel Mac OS X) AppleWebKit Chrome/140 Safari/537 Edg/140",
    ),
  ).toBe("Edge on Mac");
  expect(describeBrowser("curl/8.0")).toBe("Unknown browser");
});
