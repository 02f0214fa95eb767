import { type FormEvent, useState } from "react";
import type { Failure } from "../../shell/data/failure.ts";
import { describePasswordRule, type PasswordRule } from "../../shell/session/password-rule.ts";
import { Button } from "../../shell/ui/button.tsx";
import { FailureNotice } from "../../shell/ui/failure-notice.tsx";
import { TextField } from "../../shell/ui/field.tsx";
import { useWait } from "../../shell/ui/use-wait.ts";

interface CredentialsFormProps {
  /** The name of the action. */
  submit: string;
  /** Whether the password is a new one. */
  isNew?: boolean;
  /** Whether an address is asked for. */
  hasEmail?: boolean;
  /** What a new password needs. */
  passwordRule?: PasswordRule | undefined;
  isPending: boolean;
  failure: Failure | undefined;
  onSubmit: (credentials: { email: string; password: string }) => void;
}

interface Errors {
  email?: string;
  password?: string;
}

/** Email address and password. The entries stay after a refusal. */
export function CredentialsForm(props: CredentialsFormProps) {
  const {
    submit,
    isNew = false,
    hasEmail = true,
    passwordRule = {},
    isPending,
    failure,
    onSubmit,
  } = props;
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [isShown, setShown] = useState(false);
  const [errors, setErrors] = useState<Errors>({});
  const wait = useWait(failure?.retryAt);

  function onFormSubmit(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault();
    const found: Errors = {};
    if (hasEmail && !/^\S+@\S+$/.test(email.trim())) found.email = "Enter an email address.";
    if (password === "") found.password = "Enter the password.";
    setErrors(found);
    const first = Object.keys(found)[0];
    if (first) event.currentTarget.querySelector<HTMLElement>(`[name="${first}"]`)?.focus();
    else if (wait === 0) onSubmit({ email: email.trim(), password });
  }

  return (
    <form noValidate onSubmit={onFormSubmit} className="space-y-4">
      {failure && <FailureNotice failure={failure} />}
      {hasEmail && (
        <TextField
          label="Email address"
          name="email"
          type="email"
          autoComplete="username"
          value={email}
          error={errors.email}
          onChange={(event) => setEmail(event.target.value)}
        />
      )}
      <TextField
        label={isNew ? "New password" : "Password"}
        name="password"
        type={isShown ? "text" : "password"}
        autoComplete={isNew ? "new-password" : "current-password"}
        value={password}
        error={errors.password}
        hint={isNew ? describePasswordRule(passwordRule) : undefined}
        onChange={(event) => setPassword(event.target.value)}
      />
      <label className="flex min-h-8 items-center gap-2.5 text-small">
        <input
          type="checkbox"
          checked={isShown}
          onChange={(event) => setShown(event.target.checked)}
          className="size-4 accent-ink"
        />
        Show the password
      </label>
      <Button
        type="submit"
        kind="main"
        isPending={isPending}
        isDisabled={wait > 0}
        className="w-full"
      >
        {submit}
      </Button>
    </form>
  );
}
