import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { fontFaces, WEB_FACES, WINDOWS_FAMILIES } from "./fonts.mjs";
import { EMAILS, listMails } from "./list.mjs";

/** Returns the stacks of the inline styles of a mail. */
function readStacks(html: string): string[][] {
  const styles = [...html.matchAll(/style="([^"]*)"/g)].map(([, style]) => style ?? "");
  return styles
    .flatMap((style) => [...style.matchAll(/font(?:-family:|:[^;]*?px(?:\/\S+)? )([^;]*)/g)])
    .map(([, stack]) => (stack ?? "").split(",").map((name) => name.trim().replaceAll("'", "")));
}

const MAILS = EMAILS.flatMap((email) =>
  listMails(email).map(({ source }) => `${email.folder}/${source}`),
);

/** The fonts that mail programs have, and for which a build machine has others of the same widths. */
const COMMON = ["Arial", "Georgia", "Courier New"];

describe("the fonts of the mails", () => {
  it.each(MAILS)("%s names an open face first, which it carries, or a common font", (mail) => {
    const stacks = readStacks(readFileSync(join(import.meta.dirname, `${mail}.html`), "utf8"));
    const carried: string[] = WEB_FACES.map(([family]) => family);
    for (const [first] of stacks) expect([...carried, ...COMMON]).toContain(first);
    expect(stacks.some(([first]) => carried.includes(first ?? ""))).toBe(true);
  });

  it("are drawn in no place of another but those of the same widths", () => {
    const drawn = [...fontFaces().matchAll(/font-family:"([^"]+)"/g)].map(([, it]) => it ?? "");
    expect([...new Set(drawn)].sort()).toEqual([...COMMON].sort());
  });
});

describe("the fonts of Windows", () => {
  it.each(MAILS)("%s has one of them in each stack", (mail) => {
    const stacks = readStacks(readFileSync(join(import.meta.dirname, `${mail}.html`), "utf8"));
    expect(stacks.length).toBeGreaterThan(3);
    for (const stack of stacks) {
      expect(stack.some((name) => WINDOWS_FAMILIES.includes(name))).toBe(true);
    }
  });

  it("are drawn without the first faces of designers' machines", () => {
    const drawn = new Set(
      [...fontFaces("windows").matchAll(/font-family:"([^"]+)"/g)].map(([, it]) => it),
    );
    expect([...drawn].sort()).toEqual([...WINDOWS_FAMILIES].sort());
    for (const name of ["Didot", "Big Caslon", "Futura", "Avenir Next", "Optima", "Helvetica Neue"])
      expect(drawn).not.toContain(name);
  });
});
