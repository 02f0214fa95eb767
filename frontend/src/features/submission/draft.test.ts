import { beforeEach, describe, expect, test } from "vitest";
import { clearDraft, loadDraft, saveDraft } from "./draft.ts";

beforeEach(clearDraft);

describe("a draft", () => {
  test("is empty at first", () => {
    expect(loadDraft()).toBe("");
  });

  test("is restored after a reload", () => {
    saveDraft("A card for spring");
    expect(loadDraft()).toBe("A card for spring");
  });

  test("is removed after it was sent", () => {
    saveDraft("A card for spring");
    clearDraft();
    expect(loadDraft()).toBe("");
  });
});
