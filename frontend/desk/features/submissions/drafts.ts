/** What was written about a submission and not sent yet. */
export interface Draft {
  subject?: string;
  text?: string;
  note?: string;
}

const drafts = new Map<string, Draft>();

/** Returns what was written about a submission on this page; it survives a sign-in. */
export function draftOf(id: string): Draft {
  return drafts.get(id) ?? {};
}

/** Keeps a draft until the page is closed. */
export function keepDraft(id: string, draft: Draft): void {
  drafts.set(id, draft);
}

/** Tells whether a text would be lost with the page. */
export function hasDrafts(): boolean {
  return [...drafts.values()].some(({ text, note }) => Boolean(text?.trim() || note?.trim()));
}
