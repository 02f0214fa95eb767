import { useRef, useState } from "react";
import { useShortcuts } from "../../shell/keyboard/shortcuts.tsx";
import type { Detail } from "./api.ts";
import { NoteForm } from "./note-form.tsx";
import { ReplyForm } from "./reply-form.tsx";

/** Writes a reply, or a note that only the owner sees. The key r leads to the reply. */
export function Composer({ submission }: { submission: Detail }) {
  const canReply = submission.senders.length > 0;
  const [kind, setKind] = useState<"reply" | "note">(canReply ? "reply" : "note");
  const root = useRef<HTMLElement>(null);

  function focusText(): void {
    setKind("reply");
    // The form of the reply is rendered after this event.
    setTimeout(() => {
      const text = root.current?.querySelector("textarea");
      text?.focus();
      text?.scrollIntoView({ block: "center" });
    });
  }
  useShortcuts([{ key: "r", label: "Reply", run: focusText }]);

  return (
    <section
      ref={root}
      aria-label="Answer"
      className="rounded-large border border-line bg-paper p-4"
    >
      <fieldset aria-label="Kind of answer" className="mb-4 flex gap-4 border-b border-line">
        {(["reply", "note"] as const).map((name) => (
          <button
            key={name}
            type="button"
            aria-pressed={kind === name}
            onClick={() => setKind(name)}
            className="-mb-px min-h-9 border-b-2 border-transparent text-small text-ink-soft hover:text-ink aria-pressed:border-accent aria-pressed:font-strong aria-pressed:text-ink"
          >
            {name === "reply" ? "Reply by email" : "Note for yourself"}
          </button>
        ))}
      </fieldset>
      {kind === "note" && <NoteForm submission={submission} />}
      {kind === "reply" && canReply && <ReplyForm submission={submission} />}
      {kind === "reply" && !canReply && (
        <p className="text-ink-soft">
          The submission contains no email address, so it cannot be answered by email. Keep in a
          note how you answered it.
        </p>
      )}
    </section>
  );
}
