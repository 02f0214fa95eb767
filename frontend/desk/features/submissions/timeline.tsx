import { StickyNote, Trash2 } from "lucide-react";
import type { Message } from "../../shared/message.ts";
import { MessageLine } from "../../shared/message-line.tsx";
import { useAction } from "../../shell/data/use-action.ts";
import { Time } from "../../shell/format/time.tsx";
import { IconButton } from "../../shell/ui/button.tsx";
import { FailureNotice } from "../../shell/ui/failure-notice.tsx";
import { useToast } from "../../shell/ui/toasts.tsx";
import { type Detail, deleteNote, type Note, resendMessage } from "./api.ts";
import { timelineOf } from "./model.ts";
import { reloadSubmissions } from "./use-submissions.ts";

/** Notes and messages of a submission in the order of time. */
export function Timeline({ submission }: { submission: Detail }) {
  const items = timelineOf(submission);
  if (items.length === 0) return null;
  return (
    <section aria-labelledby="timeline">
      <h3 id="timeline" className="mb-3 text-small text-ink-soft">
        Activity
      </h3>
      <ol className="space-y-4 border-l border-line pl-4">
        {items.map((item) => (
          <li key={item.type === "note" ? item.note.id : item.message.id}>
            {item.type === "note" ? (
              <NoteCard submission={submission.id} note={item.note} />
            ) : (
              <MessageEntry submission={submission.id} message={item.message} />
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}

function MessageEntry({ submission, message }: { submission: string; message: Message }) {
  const toast = useToast();
  return (
    <>
      <MessageLine
        message={message}
        resend={() => resendMessage(submission, message.id)}
        onResent={() => {
          reloadSubmissions();
          toast({ text: `The message to ${message.to} is on its way again.` });
        }}
      />
      {message.kind === "reply" && message.text && (
        <p className="mt-2 ml-7 max-w-text rounded-medium border border-line bg-paper px-3.5 py-2.5 text-small wrap-anywhere whitespace-pre-wrap">
          {message.text}
        </p>
      )}
    </>
  );
}

function NoteCard({ submission, note }: { submission: string; note: Note }) {
  const removal = useAction(() => deleteNote(submission, note.id), reloadSubmissions);
  return (
    <div className="flex gap-3">
      <StickyNote aria-hidden="true" className="mt-1 size-4 shrink-0 text-ink-soft" />
      <div className="min-w-0 flex-1">
        <div className="flex items-center gap-2">
          <p className="min-w-0 wrap-anywhere">
            <span className="font-strong">Note</span>{" "}
            <span className="text-small text-ink-soft">
              by {note.author} · <Time at={note.created_at} />
            </span>
          </p>
          <IconButton
            icon={Trash2}
            label="Delete the note"
            isPending={removal.isPending}
            onClick={() => void removal.run()}
            className="-my-1 ml-auto"
          />
        </div>
        <p className="mt-1 max-w-text rounded-medium bg-memo px-3.5 py-2.5 text-small wrap-anywhere whitespace-pre-wrap">
          {note.text}
        </p>
        {removal.failure && (
          <div className="mt-2">
            <FailureNotice failure={removal.failure} />
          </div>
        )}
      </div>
    </div>
  );
}
