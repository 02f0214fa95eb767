import { type FormEvent, useState } from "react";
import type { Failure } from "../../shell/data/failure.ts";
import { Button } from "../../shell/ui/button.tsx";
import { FailureNotice } from "../../shell/ui/failure-notice.tsx";
import { TextField } from "../../shell/ui/field.tsx";
import { useWait } from "../../shell/ui/use-wait.ts";
import { codeOf } from "./model.ts";

interface CodeFormProps {
  submit: string;
  isPending: boolean;
  failure: Failure | undefined;
  onSubmit: (code: string) => void;
  onBack: () => void;
}

/** The six digits of an authenticator app. */
export function CodeForm({ submit, isPending, failure, onSubmit, onBack }: CodeFormProps) {
  const [entered, setEntered] = useState("");
  const [error, setError] = useState<string>();
  const wait = useWait(failure?.retryAt);

  function onFormSubmit(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault();
    const code = codeOf(entered);
    setError(code === undefined ? "Enter the six digits that the app shows now." : undefined);
    if (code === undefined) event.currentTarget.querySelector("input")?.focus();
    else if (wait === 0) onSubmit(code);
  }

  return (
    <form noValidate onSubmit={onFormSubmit} className="space-y-4">
      {failure && <FailureNotice failure={failure} />}
      <TextField
        label="Code of the authenticator app"
        name="code"
        inputMode="numeric"
        autoComplete="one-time-code"
        maxLength={12}
        value={entered}
        error={error}
        onChange={(event) => setEntered(event.target.value)}
      />
      <Button
        type="submit"
        kind="main"
        isPending={isPending}
        isDisabled={wait > 0}
        className="w-full"
      >
        {submit}
      </Button>
      <Button kind="quiet" onClick={onBack} className="w-full">
        Start again
      </Button>
    </form>
  );
}
