import { expect, test } from "vitest";
import { describeBrowser, describeEvent, isRefusal } from "./model.ts";

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

test("events are named with what they are about", () => {
  expect(describeEvent("order.refund", "#17")).toBe("Refunded an order: #17");
  expect(describeEvent("order.change_address", "#17")).toBe(
    "Sent a new download link to another address: #17",
  );
  expect(describeEvent("sign_in", "passkey")).toBe("Signed in by passkey");
  expect(describeEvent("sign_in", "code")).toBe("Signed in");
  expect(describeEvent("submission.reply", "5f0c9a52-0000-4000-8000-000000000000")).toBe(
    "Replied to a submission",
  );
  expect(describeEvent("sign_in_failed", null)).toBe("Sign-in refused");
  expect(describeEvent("of_a_later_version", "x")).toBe("of_a_later_version");
  expect([
    isRefusal("code_failed"),
    isRefusal("order.refund_failed"),
    isRefusal("sign_in"),
  ]).toEqual([true, false, false]);
});
