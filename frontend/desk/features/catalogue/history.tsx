import { Undo2 } from "lucide-react";
import { useAction } from "../../shell/data/use-action.ts";
import { Time } from "../../shell/format/time.tsx";
import { Button } from "../../shell/ui/button.tsx";
import { FailureNotice } from "../../shell/ui/failure-notice.tsx";
import { useToast } from "../../shell/ui/toasts.tsx";
import { type Revision, restoreTemplate, type TemplateDetail, type UploadedFile } from "./api.ts";
import { formatValue, nameValue } from "./model.ts";
import { keepUp, showStored } from "./use-catalogue.ts";

/** Who changed what of a template and when, with the way back. */
export function TemplateHistory({ template }: { template: TemplateDetail }) {
  const { id, revision, changed, history, files, is_added: isAdded } = template;
  const toast = useToast();
  const restoring = useAction(
    (to: number) => keepUp(restoreTemplate(id, revision, to)),
    (stored) => {
      showStored(stored);
      toast({ text: "The earlier values are back. The shop shows them now." });
    },
  );
  return (
    <section aria-labelledby="history" className="max-w-text">
      <h3 id="history" className="mb-3 text-small text-ink-soft">
        History
      </h3>
      {restoring.failure && (
        <div className="mb-4">
          <FailureNotice failure={restoring.failure} />
        </div>
      )}
      {history.length === 0 && (
        <p className="text-ink-soft">
          Nothing was changed at the desk: the values are those of the files.
        </p>
      )}
      <ol className="space-y-5 border-l border-line pl-4">
        {history.map((entry) => (
          <Change
            key={entry.revision}
            entry={entry}
            files={files}
            isFirstOfAdded={isAdded && entry.revision === 1}
            isLatest={entry.revision === revision}
            isPending={restoring.isPending}
            onRestore={(to) => void restoring.run(to)}
          />
        ))}
      </ol>
      {changed.length > 0 && !isAdded && (
        <Button
          kind="quiet"
          className="mt-5 -ml-3.5"
          isPending={restoring.isPending}
          onClick={() => void restoring.run(0)}
        >
          Return to the values of the files
        </Button>
      )}
    </section>
  );
}

interface ChangeProps {
  entry: Revision;
  files: readonly UploadedFile[];
  /** Whether there is nothing before it. */
  isFirstOfAdded: boolean;
  isLatest: boolean;
  isPending: boolean;
  onRestore: (to: number) => void;
}

function Change({ entry, files, isFirstOfAdded, isLatest, isPending, onRestore }: ChangeProps) {
  const { revision, at, author, fields } = entry;
  return (
    <li className="relative">
      <span
        aria-hidden="true"
        className="absolute top-2 -left-[1.2rem] size-1.5 rounded-full bg-edge"
      />
      <p className="text-small wrap-anywhere text-ink-soft">
        {author} · <Time at={at} isFull />
      </p>
      <ul className="mt-0.5 space-y-1">
        {fields.map(({ name, before, after }) => (
          <li key={name} className="wrap-anywhere">
            {nameValue(name)}: {formatValue(name, before, files)} became{" "}
            {formatValue(name, after, files)}
          </li>
        ))}
      </ul>
      {!(isLatest && isFirstOfAdded) && (
        <Button
          className="mt-2"
          icon={Undo2}
          isPending={isPending}
          onClick={() => onRestore(isLatest ? revision - 1 : revision)}
        >
          {isLatest ? "Undo" : "Return to this"}
          <span className="sr-only"> change {revision}</span>
        </Button>
      )}
    </li>
  );
}
