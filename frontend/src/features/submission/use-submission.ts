import { useEffect, useRef, useState } from "react";
import { preloadClient, sendSubmission } from "./api.ts";
import { attemptKey, clearDraft, loadDraft, saveDraft } from "./draft.ts";
import { checkDetails } from "./model.ts";

type SubmissionState = "editing" | "submitting" | "received";

/** The state of a submission, and its actions. */
export interface Submission {
  state: SubmissionState;
  text: string;
  /** The validation error, until the text changes. */
  refusal: string | undefined;
  write: (text: string) => void;
  /** Validates and sends the text; returns whether it was refused. */
  submit: () => "refused" | "sent";
}

export function useSubmission(): Submission {
  const [state, setState] = useState<SubmissionState>("editing");
  const [text, setText] = useState(loadDraft);
  const [refusal, setRefusal] = useState<string>();
  // A second click can precede the rendering of the disabled button.
  const isSending = useRef(false);
  useEffect(preloadClient, []);

  function write(changed: string): void {
    setText(changed);
    setRefusal(undefined);
    saveDraft(changed);
  }

  function submit(): "refused" | "sent" {
    const checked = checkDetails(text);
    if (!checked.ok) {
      setRefusal(checked.error);
      return "refused";
    }
    if (!isSending.current) {
      isSending.current = true;
      void send(checked.value);
    }
    return "sent";
  }

  async function send(details: string): Promise<void> {
    setState("submitting");
    const sent = await sendSubmission(details, attemptKey(details));
    isSending.current = false;
    if (sent.ok) {
      console.info("Submission answered:", sent.value);
      clearDraft();
      setState("received");
    } else {
      // The product specification shows no message and keeps the form.
      console.error("Submission failed:", sent.error.message, sent.error.cause);
      setState("editing");
    }
  }

  return { state, text, refusal, write, submit };
}
