import { Trash2 } from "lucide-react";
import { useState } from "react";
import { useNavigate } from "react-router-dom";
import { useDraftWarning } from "../../shared/draft-warning.ts";
import { removeEntry } from "../../shell/data/query-cache.ts";
import { Time } from "../../shell/format/time.tsx";
import { DetailFailure } from "../../shell/frame/detail-failure.tsx";
import { DetailHeader } from "../../shell/frame/detail-header.tsx";
import { useShortcuts } from "../../shell/keyboard/shortcuts.tsx";
import { Badge } from "../../shell/ui/badge.tsx";
import { IconButton } from "../../shell/ui/button.tsx";
import { DetailSkeleton } from "../../shell/ui/skeleton.tsx";
import type { Detail } from "./api.ts";
import { Composer } from "./composer.tsx";
import { DeleteDialog } from "./delete-dialog.tsx";
import { hasDrafts } from "./drafts.ts";
import { nameSenders } from "./model.ts";
import { StatusButtons } from "./status-buttons.tsx";
import { Timeline } from "./timeline.tsx";
import { useStatusChange, useSubmission } from "./use-submissions.ts";

interface SubmissionDetailProps {
  id: string;
  /** The address of the list, and the one to show after this submission is deleted. */
  back: string;
  afterwards: string;
}

/** An open submission. */
export function SubmissionDetail({ id, back, afterwards }: SubmissionDetailProps) {
  const { value, failure, reload } = useSubmission(id);
  if (failure && (!value || failure.kind === "missing")) {
    return (
      <DetailFailure
        title="Submission"
        back={back}
        list="Submissions"
        failure={failure}
        onRetry={reload}
      />
    );
  }
  if (!value) return <DetailSkeleton />;
  return <Opened submission={value} back={back} afterwards={afterwards} />;
}

interface OpenedProps {
  submission: Detail;
  back: string;
  afterwards: string;
}

function Opened({ submission, back, afterwards }: OpenedProps) {
  const { id, senders, status, created_at, template, description, spam_score } = submission;
  const [isDeleting, setDeleting] = useState(false);
  const navigate = useNavigate();
  const change = useStatusChange();
  useDraftWarning(hasDrafts);
  const next = status === "closed" ? "new" : "closed";
  useShortcuts([
    {
      key: "e",
      label: next === "closed" ? "Close the submission" : "Reopen the submission",
      run: () => void change(id, status, next),
    },
  ]);

  return (
    <article className="pb-8">
      <DetailHeader title={nameSenders(senders)} back={back} list="Submissions">
        <p className="mt-1 flex flex-wrap items-center gap-x-2 gap-y-1 text-small text-ink-soft">
          <Time at={created_at} isFull />
          {template && <Badge tone="neutral">{template.title || `Template ${template.id}`}</Badge>}
          {spam_score > 0 && (
            <Badge tone={status === "spam" ? "warning" : "neutral"}>Spam score {spam_score}</Badge>
          )}
        </p>
        <div className="mt-4 flex flex-wrap items-center gap-2 border-b border-line pb-4">
          <StatusButtons status={status} onChange={(to) => void change(id, status, to)} />
          <IconButton
            icon={Trash2}
            label="Delete the submission"
            onClick={() => setDeleting(true)}
            className="ml-auto"
          />
        </div>
      </DetailHeader>
      <div className="space-y-7 px-4 pt-5 lg:px-7">
        <p className="max-w-text wrap-anywhere whitespace-pre-wrap">{description}</p>
        <Timeline submission={submission} />
        <Composer submission={submission} />
      </div>
      {isDeleting && (
        <DeleteDialog
          ids={[id]}
          sender={nameSenders(senders)}
          onClose={() => setDeleting(false)}
          onDeleted={() => {
            removeEntry(`submission/${id}`);
            navigate(afterwards, { replace: true });
          }}
        />
      )}
    </article>
  );
}
