import { tabStorage } from "../../shared/tab-storage.ts";

/** The text of the visitor, kept until it is sent, so that a reload loses nothing. */
const TEXT = "submission.text";

/** Returns the stored text. */
export function loadDraft(): string {
  return tabStorage.read(TEXT) ?? "";
}

/** Stores the text. */
export function saveDraft(text: string): void {
  tabStorage.write(TEXT, text);
}

/** Removes the text. */
export function clearDraft(): void {
  tabStorage.remove(TEXT);
}

/** Returns whether a text was entered before the form was shown: it is stored, in the field, or sent. */
export function hasEntered(page: Document): boolean {
  const field = page.querySelector<HTMLTextAreaElement>("textarea#details");
  return field === null || field.value !== "" || loadDraft() !== "";
}
