import { Send } from "lucide-react";
import { type FormEvent, useState } from "react";
import { useAction } from "../../shell/data/use-action.ts";
import { useSession } from "../../shell/session/session.tsx";
import { Button } from "../../shell/ui/button.tsx";
import { FailureNotice } from "../../shell/ui/failure-notice.tsx";
import { SelectField, TextArea, TextField } from "../../shell/ui/field.tsx";
import { useToast } from "../../shell/ui/toasts.tsx";
import { useWait } from "../../shell/ui/use-wait.ts";
import { type Detail, sendReply } from "./api.ts";
import { draftOf, keepDraft } from "./drafts.ts";
import { checkReply, quoteOf } from "./model.ts";
import { reloadSubmissions } from "./use-submissions.ts";

const LONGEST_TEXT = 10_000;

/** An e-mail to the sender, with the quote that the server adds. */
export function ReplyForm({ submission }: { submission: Detail }) {
  const { id, senders, description } = submission;
  const { shop_name: shop } = useSession();
  const draft = draftOf(id);
  const [to, setTo] = useState(senders[0] ?? "");
  const [subject, setSubject] = useState(draft.subject ?? `Your request to ${shop}`);
  const [text, setText] = useState(draft.text ?? "");
  const [problem, setProblem] = useState<{ field: string; error: string }>();
  const toast = useToast();
  const sending = useAction(sendReply, () => {
    setText("");
    keepDraft(id, { ...draftOf(id), text: "" });
    reloadSubmissions();
    toast({ text: `Your reply to ${to} is on its way.` });
  });
  const wait = useWait(sending.failure?.retryAt);

  function onSubmit(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault();
    const found = checkReply({ subject, text });
    setProblem(found);
    if (found) event.currentTarget.querySelector<HTMLElement>(`[name=${found.field}]`)?.focus();
    else if (wait === 0) void sending.run(id, { to, subject: subject.trim(), text });
  }

  const errorOf = (field: string) => (problem?.field === field ? problem.error : undefined);
  return (
    <form noValidate onSubmit={onSubmit} className="space-y-4">
      <SelectField label="To" name="to" value={to} onChange={(event) => setTo(event.target.value)}>
        {senders.map((sender) => (
          <option key={sender}>{sender}</option>
        ))}
      </SelectField>
      <TextField
        label="Subject"
        name="subject"
        maxLength={200}
        value={subject}
        error={errorOf("subject")}
        onChange={(event) => {
          setSubject(event.target.value);
          keepDraft(id, { ...draftOf(id), subject: event.target.value });
        }}
      />
      <TextArea
        label="Text"
        name="text"
        maxLength={LONGEST_TEXT}
        value={text}
        error={errorOf("text")}
        onChange={(event) => {
          setText(event.target.value);
          keepDraft(id, { ...draftOf(id), text: event.target.value });
        }}
      />
      <details className="text-small">
        <summary className="min-h-8 w-fit cursor-pointer py-1 text-ink-soft hover:text-ink">
          The submission is quoted below your text
        </summary>
        <p className="mt-2 border-l-2 border-line pl-3 wrap-anywhere whitespace-pre-wrap text-ink-soft">
          {quoteOf(description)}
        </p>
      </details>
      {sending.failure && <FailureNotice failure={sending.failure} />}
      <Button
        type="submit"
        kind="main"
        icon={Send}
        isPending={sending.isPending}
        isDisabled={wait > 0}
      >
        Send reply
      </Button>
    </form>
  );
}
