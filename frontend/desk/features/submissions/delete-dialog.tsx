import { useAction } from "../../shell/data/use-action.ts";
import { formatPlural } from "../../shell/format/format.ts";
import { ConfirmDialog } from "../../shell/ui/confirm-dialog.tsx";
import { useToast } from "../../shell/ui/toasts.tsx";
import { deleteSubmissions } from "./api.ts";
import { reloadSubmissions } from "./use-submissions.ts";

interface DeleteDialogProps {
  ids: readonly string[];
  /** Who wrote the submission, if it is one. */
  sender?: string;
  onClose: () => void;
  onDeleted: () => void;
}

/** Asks before submissions are deleted. */
export function DeleteDialog({ ids, sender, onClose, onDeleted }: DeleteDialogProps) {
  const toast = useToast();
  const deletion = useAction(deleteSubmissions, ({ deleted }) => {
    onDeleted();
    reloadSubmissions();
    toast({ text: `${formatPlural(deleted, "submission")} deleted.` });
  });
  const what = formatPlural(ids.length, "submission");
  return (
    <ConfirmDialog
      title={sender ? `Delete the submission of ${sender}?` : `Delete ${what}?`}
      confirm={ids.length === 1 ? "Delete submission" : `Delete ${what}`}
      isPending={deletion.isPending}
      failure={deletion.failure}
      onConfirm={() => void deletion.run(ids)}
      onClose={onClose}
    >
      <p>
        The text, the notes and the messages are deleted for good. This cannot be undone; an export
        keeps a copy.
      </p>
    </ConfirmDialog>
  );
}
