import { type FormEvent, useState } from "react";
import { useAction } from "../../shell/data/use-action.ts";
import { Button } from "../../shell/ui/button.tsx";
import { FailureNotice } from "../../shell/ui/failure-notice.tsx";
import { TextArea } from "../../shell/ui/field.tsx";
import { useToast } from "../../shell/ui/toasts.tsx";
import { useWait } from "../../shell/ui/use-wait.ts";
import { addNote, type Detail } from "./api.ts";
import { draftOf, keepDraft } from "./drafts.ts";
import { reloadSubmissions } from "./use-submissions.ts";

const LONGEST_NOTE = 4_000;

/** A note about the submission, which is mailed to no one. */
export function NoteForm({ submission: { id } }: { submission: Detail }) {
  const [text, setText] = useState(draftOf(id).note ?? "");
  const [error, setError] = useState<string>();
  const toast = useToast();
  const adding = useAction(addNote, () => {
    write("");
    reloadSubmissions();
    toast({ text: "The note is added." });
  });
  const wait = useWait(adding.failure?.retryAt);

  function write(written: string): void {
    setText(written);
    keepDraft(id, { ...draftOf(id), note: written });
  }

  function onSubmit(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault();
    const isEmpty = text.trim() === "";
    setError(isEmpty ? "Write a note." : undefined);
    if (isEmpty) event.currentTarget.querySelector("textarea")?.focus();
    else if (wait === 0) void adding.run(id, text.trim());
  }

  return (
    <form noValidate onSubmit={onSubmit} className="space-y-4">
      <TextArea
        label="Note"
        name="note"
        maxLength={LONGEST_NOTE}
        value={text}
        error={error}
        onChange={(event) => write(event.target.value)}
      />
      {adding.failure && <FailureNotice failure={adding.failure} />}
      <Button type="submit" kind="main" isPending={adding.isPending} isDisabled={wait > 0}>
        Add note
      </Button>
    </form>
  );
}
