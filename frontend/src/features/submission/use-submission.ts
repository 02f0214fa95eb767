import { useContext, useEffect, useRef, useState } from "react";
import { useSearchParams } from "react-router-dom";
import { findTemplate } from "../../shared/templates/catalogue.ts";
import { useCatalogue } from "../../shared/templates/use-catalogue.ts";
import { useHydrated } from "../../shared/use-hydrated.ts";
import { preloadClient, sendSubmission } from "./api.ts";
import { attemptKey, endAttempt } from "./attempt.ts";
import { clearDraft, loadDraft, saveDraft } from "./draft.ts";
import { checkDetails } from "./model.ts";
import { type Outcome, OutcomeContext } from "./outcome.ts";

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
  const [search] = useSearchParams();
  const template = findTemplate(useCatalogue(), search.get("template"))?.id;
  const outcome = useOutcome();
  const [state, setState] = useState<SubmissionState>(outcome.isReceived ? "received" : "editing");
  const [text, setText] = useState(outcome.details ?? "");
  const [refusal, setRefusal] = useState(outcome.refusal);
  // A second click can precede the rendering of the disabled button.
  const isSending = useRef(false);
  useEffect(() => {
    preloadClient();
    if (outcome.isReceived) forget();
    else if (outcome.details) saveDraft(outcome.details);
    else setText((entered) => entered || loadDraft());
  }, [outcome]);

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
    const sent = await sendSubmission({ description: details, template }, attemptKey(details));
    isSending.current = false;
    if (sent.ok) {
      console.info("Submission answered:", sent.value);
      forget();
      setState("received");
    } else {
      // The product specification shows no message and keeps the form.
      console.error("Submission failed:", sent.error.message, sent.error.cause);
      setState("editing");
    }
  }

  return { state, text, refusal, write, submit };
}

/** Forgets what was sent. */
function forget(): void {
  clearDraft();
  endAttempt();
}

/** Returns the outcome that the page was sent with; none after a navigation. */
function useOutcome(): Outcome {
  const sent = useContext(OutcomeContext);
  const isHydrated = useHydrated();
  const [outcome] = useState(() => (isHydrated ? {} : sent));
  return outcome;
}
