import type { Category } from "../../shared/templates/templates.ts";

interface CategoryPromise {
  tagline: string;
  benefits: readonly [string, string, string];
}

const PROMISES: Partial<Record<Category, CategoryPromise>> = {
  Newsletter: {
    tagline: "Worth opening every time",
    benefits: [
      "A rhythm readers come to expect, issue after issue",
      "Stories ranked so that a skimmer still gets the best one",
      "Blocks that grow or shrink with the news you have",
    ],
  },
  Marketing: {
    tagline: "One offer, one button, no noise",
    benefits: [
      "The product seen before a word is read",
      "A single call to action that survives every mail client",
      "Prices and dates that change in one place",
    ],
  },
  Onboarding: {
    tagline: "From first hello to first success",
    benefits: [
      "Each letter asks for one thing and says why",
      "A tone that sounds like a person, not a system",
      "Steps a newcomer can finish in a coffee break",
    ],
  },
  Corporate: {
    tagline: "Composed, exact and easy to file",
    benefits: [
      "The decision or the date before the background",
      "Figures and clauses that stay aligned on a phone",
      "A layout that prints and forwards without breaking",
    ],
  },
  Events: {
    tagline: "Fills the room before the day",
    benefits: [
      "Where and when answered in the first glance",
      "A reply that takes one tap and no login",
      "Directions guests can follow from the mail itself",
    ],
  },
  "E-commerce": {
    tagline: "Calm after the purchase",
    benefits: [
      "Every question about the order answered up front",
      "Totals that line up in every mail client",
      "Fewer tickets, because the next step is on the page",
    ],
  },
};

const GENERIC: CategoryPromise = {
  tagline: "Made for the moment it is sent",
  benefits: [
    "A layout drawn for this one purpose, not bent to it",
    "Reads well on a phone, a desktop and on paper",
    "Ready to carry your colours, your type and your name",
  ],
};

/** Returns the tagline and benefits of a category; some categories share a general text. */
export function categoryPromise(category: Category): CategoryPromise {
  return PROMISES[category] ?? GENERIC;
}
