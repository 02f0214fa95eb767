import { createContext } from "react";
import * as v from "valibot";

/** What the server answered to a form that was sent without JavaScript. */
export interface Outcome {
  /** Whether the submission was stored. */
  isReceived?: boolean | undefined;
  /** The validation error. */
  refusal?: string | undefined;
  /** The text in the field. */
  details?: string | undefined;
}

const OutcomeSchema = v.pipe(
  v.string(),
  v.parseJson(),
  v.object({ isReceived: v.optional(v.boolean()), refusal: v.optional(v.string()) }),
);

/** The outcome with which the page was sent. Provided by the app. */
export const OutcomeContext = createContext<Outcome>({});

/** Reads the outcome from the page, and the text that was entered before the page works. */
export function readOutcome(page: Document): Outcome {
  const text = page.getElementById("basalt-submission")?.textContent ?? "{}";
  const outcome = v.safeParse(OutcomeSchema, text);
  const field = page.querySelector<HTMLTextAreaElement>("textarea#details");
  return { ...(outcome.success ? outcome.output : {}), details: field?.value };
}
