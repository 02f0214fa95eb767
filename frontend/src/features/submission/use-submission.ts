import { useEffect, useRef, useState } from "react";
import { prepare, sendSubmission } from "./api.ts";
import { attemptKey, clearDraft, loadDraft, saveDraft } from "./draft.ts";
import { checkDetails } from "./model.ts";

type SubmissionState = "editing" | "submitting" | "received";

/** One submission, from the first key to the green card. */
export interface Submission {
  state: SubmissionState;
  text: string;
  /** Why the text was refused, until it is changed. */
  refusal: string | undefined;
  write: (text: string) => void;
  /** Sends the text, or refuses it and says so in the return value. */
  submit: () => "refused" | "sent";
}

export function useSubmission(): Submission {
  const [state, setState] = useState<SubmissionState>("editing");
  const [text, setText] = useState(loadDraft);
  const [refusal, setRefusal] = useState<string>();
  // Two clicks can come before the button is drawn as disabled.
  const underWay = useRef(false);
  useEffect(prepare, []);

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
    if (!underWay.current) {
      underWay.current = true;
      void send(checked.value);
    }
    return "sent";
  }

  async function send(details: string): Promise<void> {
    setState("submitting");
    const sent = await sendSubmission(details, attemptKey(details));
    underWay.current = false;
    if (sent.ok) {
      console.info("Submission answered:", sent.value);
      clearDraft();
      setState("received");
    } else {
      // The visitor sees no message and keeps the form: the product's rule.
      console.error("Submission failed:", sent.error.message, sent.error.cause);
      setState("editing");
    }
  }

  return { state, text, refusal, write, submit };
}
