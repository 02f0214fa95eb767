import { type FormEvent, type ReactNode, useState } from "react";
import type { Result } from "../../../src/shared/result.ts";
import type { Failure } from "../../shell/data/failure.ts";
import { useAction } from "../../shell/data/use-action.ts";
import { Button } from "../../shell/ui/button.tsx";
import { Dialog } from "../../shell/ui/dialog.tsx";
import { FailureNotice } from "../../shell/ui/failure-notice.tsx";
import { TextField } from "../../shell/ui/field.tsx";
import { useWait } from "../../shell/ui/use-wait.ts";

interface ChangeDialogProps<Value> {
  title: string;
  submit: string;
  /** What happens. */
  children?: ReactNode;
  /** The new value, if the change has one. */
  field?: { label: string; type: "email" | "password"; hint?: string };
  /** Makes the change with the present password and the new value. */
  act: (password: string, value: string) => Promise<Result<Value, Failure>>;
  onDone: (value: Value) => void;
  onClose: () => void;
}

/** A change of the account, which needs the present password. */
export function ChangeDialog<Value>(props: ChangeDialogProps<Value>) {
  const { title, submit, children, field, act, onDone, onClose } = props;
  const [value, setValue] = useState("");
  const [password, setPassword] = useState("");
  const [hasErrors, setErrors] = useState(false);
  const change = useAction(act, onDone);
  const wait = useWait(change.failure?.retryAt);
  const isComplete = password !== "" && (!field || value.trim() !== "");

  function onSubmit(event: FormEvent): void {
    event.preventDefault();
    setErrors(!isComplete);
    if (isComplete && wait === 0) void change.run(password, value.trim());
  }

  return (
    <Dialog title={title} onClose={onClose}>
      <form noValidate onSubmit={onSubmit} className="space-y-4">
        {children && <div className="space-y-2 text-ink-soft">{children}</div>}
        {field && (
          <TextField
            label={field.label}
            type={field.type}
            autoComplete={field.type === "password" ? "new-password" : "email"}
            hint={field.hint}
            value={value}
            error={hasErrors && value.trim() === "" ? "Fill this in." : undefined}
            onChange={(event) => setValue(event.target.value)}
          />
        )}
        <TextField
          label="Present password"
          type="password"
          autoComplete="current-password"
          value={password}
          error={hasErrors && password === "" ? "Enter the password." : undefined}
          onChange={(event) => setPassword(event.target.value)}
        />
        {change.failure && <FailureNotice failure={change.failure} />}
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="main" isPending={change.isPending} isDisabled={wait > 0}>
            {submit}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
