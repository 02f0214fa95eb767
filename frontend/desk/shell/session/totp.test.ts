import { expect, test } from "vitest";
import { groupSecret, readQrDrawing } from "./totp.ts";

test("a secret is shown in groups of four", () => {
  expect(groupSecret("JBSWY3DPEH")).toBe("JBSW Y3DP EH");
});

test("only the drawing of a QR code is used", () => {
  const svg = (path: string) =>
    `<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 45 45"><rect/><path d="${path}"/></svg>`;
  expect(readQrDrawing(svg("M4 4h7v1h-7z"))).toEqual({
    viewBox: "0 0 45 45",
    path: "M4 4h7v1h-7z",
  });
  expect(readQrDrawing(`data:image/svg+xml,${svg("M4 4h1z")}`)?.path).toBe("M4 4h1z");
  expect(readQrDrawing(svg("url(x)"))).toBeUndefined();
  expect(readQrDrawing("no drawing")).toBeUndefined();
});
