import { Send, X } from "lucide-react";
import { type FormEvent, type RefObject, useEffect, useRef } from "react";
import { buttonClass } from "../../shared/ui/button.ts";
import { ConfirmationMark } from "./confirmation-mark.tsx";
import { LONGEST, shownCount, spokenCount } from "./model.ts";
import type { Submission } from "./use-submission.ts";

/**
 * The form. A validation error is shown at the field, which gets the focus. Without JavaScript the
 * browser sends the field to the address of the page.
 */
export function SubmissionForm({ state, text, refusal, write, submit }: Submission) {
  const field = useRef<HTMLTextAreaElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const count = shownCount(text);
  const submitting = state === "submitting";
  useFocusReturn(button, submitting);
  // What was entered while the page was taken over is in the field only.
  useEffect(() => {
    if (field.current && field.current.value !== text) write(field.current.value);
  });

  function onSubmit(event: FormEvent): void {
    event.preventDefault();
    if (submit() === "refused") field.current?.focus();
  }

  return (
    <form method="post" noValidate onSubmit={onSubmit} className="mt-8">
      <div className="flex min-h-6 items-end justify-between">
        <label htmlFor="details" className="text-small font-strong tracking-wide">
          DETAILS:
        </label>
        <ConfirmationMark text={text} />
      </div>
      <textarea
        ref={field}
        id="details"
        name="description"
        rows={9}
        required
        placeholder="Enter your details here..."
        value={text}
        readOnly={submitting}
        aria-invalid={refusal !== undefined}
        aria-describedby="details-refusal details-count"
        onChange={(event) => write(event.target.value)}
        className="mt-2 block min-h-56 w-full resize-y rounded-small border border-edge bg-paper px-4 py-3 placeholder:text-ink-soft aria-invalid:border-ink aria-invalid:shadow-[inset_0_0_0_1px_var(--color-ink)]"
      />
      <div className="mt-2 flex min-h-7 flex-wrap justify-between gap-x-6">
        <p id="details-refusal" className="flex items-start gap-2 font-strong">
          {refusal && (
            <>
              <X aria-hidden="true" className="mt-1 size-5 shrink-0" />
              {refusal}
            </>
          )}
        </p>
        <p id="details-count" className="ml-auto text-ink-soft tabular-nums">
          {count !== undefined && `${count} / ${LONGEST}`}
        </p>
        <p role="status" className="sr-only">
          {spokenCount(count)}
        </p>
      </div>
      {/* Not shown: programs that fill every field of a form are recognised by it. */}
      <input name="website" hidden tabIndex={-1} autoComplete="off" />
      <button
        ref={button}
        type="submit"
        disabled={submitting}
        className={`${buttonClass("accent")} mt-4 w-full sm:w-auto sm:min-w-56`}
      >
        <Send aria-hidden="true" className="size-5" />
        {submitting ? "Submitting..." : "Submit Now"}
      </button>
    </form>
  );
}

/** Gives the focus back to the button that lost it by being disabled, if the form is still there. */
function useFocusReturn(button: RefObject<HTMLButtonElement | null>, submitting: boolean): void {
  const wasSubmitting = useRef(false);
  useEffect(() => {
    const isLost = document.activeElement === null || document.activeElement === document.body;
    if (wasSubmitting.current && !submitting && isLost) button.current?.focus();
    wasSubmitting.current = submitting;
  }, [button, submitting]);
}
