import { describe, expect, test, vi } from "vitest";
import { readEnv } from "./env.ts";

const ORIGIN = "http://localhost:3000";

function page(configuration: string): Document {
  const html = `<script id="basalt-config" type="application/json">${configuration}</script>`;
  return new DOMParser().parseFromString(html, "text/html");
}

describe("the page's configuration", () => {
  test("has the values of the server", () => {
    const written = { url: "https://api.example", key: "k", siteUrl: "https://shop.example" };
    expect(readEnv(page(JSON.stringify(written)), ORIGIN)).toEqual(written);
  });

  test("without a url means the page's own origin", () => {
    expect(readEnv(page('{"url":"","key":"k"}'), ORIGIN)).toEqual({
      url: ORIGIN,
      key: "k",
      siteUrl: ORIGIN,
    });
  });

  test("has no slash at the end of a URL", () => {
    expect(readEnv(page('{"url":"https://api.example/"}'), ORIGIN).url).toBe("https://api.example");
  });

  test("may be missing altogether", () => {
    const nothing = new DOMParser().parseFromString("<p>", "text/html");
    expect(readEnv(nothing, ORIGIN)).toEqual({ url: ORIGIN, key: "", siteUrl: ORIGIN });
  });

  test.each(["{nonsense", '"text"', "null", '{"url":5}', '{"key":null}'])(
    "that cannot be read is reported and does not stop the page: %s",
    (configuration) => {
      const error = vi.spyOn(console, "error").mockReturnValue();
      expect(readEnv(page(configuration), ORIGIN)).toEqual({
        url: ORIGIN,
        key: "",
        siteUrl: ORIGIN,
      });
      expect(error).toHaveBeenCalledOnce();
      error.mockRestore();
    },
  );
});
