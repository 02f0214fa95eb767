import type { ReactNode } from "react";
import type { Failure } from "../data/failure.ts";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import { FailureNotice } from "./failure-notice.tsx";
import { useWait } from "./use-wait.ts";

interface ConfirmDialogProps {
  title: string;
  /** What will happen, and to what. */
  children: ReactNode;
  /** The name of the action. */
  confirm: string;
  /** The look of the action; `danger` unless it can be repeated. */
  kind?: "danger" | "main";
  isPending: boolean;
  failure: Failure | undefined;
  onConfirm: () => void;
  onClose: () => void;
}

/** Asks before something that cannot be taken back. The failure of the action stays in the dialog. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { title, children, confirm, kind = "danger" } = props;
  const { isPending, failure, onConfirm, onClose } = props;
  const wait = useWait(failure?.retryAt);
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="space-y-2 text-ink-soft">{children}</div>
      {failure && (
        <div className="mt-4">
          <FailureNotice failure={failure} />
        </div>
      )}
      <div className="mt-5 flex flex-wrap justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button kind={kind} isPending={isPending} isDisabled={wait > 0} onClick={onConfirm}>
          {confirm}
        </Button>
      </div>
    </Dialog>
  );
}
