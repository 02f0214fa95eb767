import type { Tone } from "../../shell/ui/badge.tsx";
import type { SaleState, UploadedFile, Value, Values } from "./api.ts";

/** The name of a value in the API. */
export type Key = keyof Values;

const STATE_LABELS: Record<SaleState, { label: string; tone: Tone }> = {
  sells: { label: "Sells", tone: "good" },
  made_to_order: { label: "Made to order", tone: "neutral" },
  no_product_file: { label: "No product file", tone: "bad" },
  placeholder_link: { label: "Placeholder link", tone: "warning" },
};

/** Returns the word and the colour of a state. */
export function describeSaleState(state: SaleState) {
  return STATE_LABELS[state];
}

const STATE_TEXTS: Record<SaleState, string> = {
  sells: "Visitors buy it by the payment link, and buyers get its file.",
  made_to_order: "It has no payment link: visitors describe what they need on the page Submission.",
  no_product_file:
    "It has a payment link, but no file for buyers. Upload the ZIP file that they get below.",
  placeholder_link: "Its payment link is a placeholder. Enter the one of your payment provider.",
};

/** Says what a visitor can do with a template of this state, and what it lacks. */
export function explainSaleState(state: SaleState): string {
  return STATE_TEXTS[state];
}

const LABELS: Record<Key, string> = {
  title: "Title",
  category: "Category",
  price: "Price",
  summary: "Summary",
  description: "Description",
  features: "Features",
  link: "Payment link",
  payment_reference: "Payment references",
  visible: "Visibility",
  picture: "Picture",
  picture_alt: "Description of the picture",
  product_file: "File for buyers",
};

export const KEYS = Object.keys(LABELS) as Key[];

/** The values of a template before it is added. */
export const EMPTY_VALUES: Values = {
  title: "",
  category: "",
  price: "",
  summary: "",
  description: "",
  features: [],
  link: "",
  payment_reference: [],
  visible: false,
  picture: "",
  picture_alt: "",
  product_file: "",
};

/** Returns the label of a value. */
export function nameValue(key: string): string {
  return LABELS[key as Key] ?? key;
}

/** What stands in a field: a text, or whether a box is checked. */
export type Entry = string | boolean;

/** Returns what stands in the field of a value; lists have one line for each text. */
export function toEntry(value: Value): Entry {
  return Array.isArray(value) ? value.join("\n") : value;
}

/** Returns the value of a field: texts of one line without spaces around them. */
export function toValue(key: Key, entry: Entry): Value {
  if (typeof entry === "boolean") return entry;
  if (key !== "features" && key !== "payment_reference")
    return entry.replaceAll(/\s+/g, " ").trim();
  return entry
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** Returns whether two values are the same. */
export function isSame(one: Value, other: Value): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

const LONGEST = { title: 80, category: 30, summary: 60, description: 400 } as const;
const LONGEST_ALT = 160;
const FEATURES = 5;
const LONGEST_FEATURE = 80;
const MOST_REFERENCES = 20;
const LONGEST_REFERENCE = 120;

const lengthOf = (text: string) => [...text].length;

/** Returns what is wrong with a value, as the server would say it. */
export function checkValue(key: Key, value: Value): string | undefined {
  switch (key) {
    case "title":
    case "category":
    case "summary":
    case "description": {
      const length = lengthOf(String(value));
      if (length === 0) return "Fill this in.";
      if (length > LONGEST[key])
        return `Shorten it to ${LONGEST[key]} characters: it has ${length}.`;
      return undefined;
    }
    case "price":
      return /^\$(0|[1-9]\d{0,6})(\.\d{2})?$/.test(String(value))
        ? undefined
        : "Enter a dollar sign and an amount, such as $28 or $28.50.";
    case "link":
      return value === "" || /^https:\/\/[^/\s]+/.test(String(value))
        ? undefined
        : "Enter an address that begins with https://, or nothing.";
    case "features":
      return checkFeatures(value as string[]);
    case "payment_reference":
      return checkReferences(value as string[]);
    case "picture_alt":
      return lengthOf(String(value)) > LONGEST_ALT
        ? `Shorten it to ${LONGEST_ALT} characters: it has ${lengthOf(String(value))}.`
        : undefined;
    case "visible":
    case "picture":
    case "product_file":
      return undefined;
  }
}

function checkFeatures(lines: string[]): string | undefined {
  if (lines.length !== FEATURES || new Set(lines).size !== FEATURES) {
    return `Enter ${FEATURES} different features, one in each line.`;
  }
  const isLong = lines.some((line) => lengthOf(line) > LONGEST_FEATURE);
  return isLong ? `Shorten each feature to ${LONGEST_FEATURE} characters.` : undefined;
}

function checkReferences(lines: string[]): string | undefined {
  if (lines.length > MOST_REFERENCES) return `Enter at most ${MOST_REFERENCES} references.`;
  const isLong = lines.some((line) => lengthOf(line) > LONGEST_REFERENCE);
  return isLong ? `Shorten each reference to ${LONGEST_REFERENCE} characters.` : undefined;
}

/** Returns what is wrong with values together. */
export function checkTogether(values: Values): Partial<Record<Key, string>> {
  return values.picture !== "" && values.picture_alt === ""
    ? { picture_alt: "Say what the picture shows, for visitors who cannot see it." }
    : {};
}

/** Formats a size in bytes. */
export function formatSize(bytes: number): string {
  if (bytes < 1_000_000) return `${Math.max(1, Math.round(bytes / 1000))} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** Formats a value in a sentence; uploaded files have names. */
export function formatValue(
  key: string,
  value: Value,
  files: readonly UploadedFile[] = [],
): string {
  if (key === "picture") return value === "" ? "the one of the files" : "an uploaded one";
  if (key === "product_file") {
    if (value === "") return "that of the products folder";
    const name = files.find(({ file }) => file === value)?.name;
    return name ? `“${name}”` : "an uploaded one";
  }
  if (key === "visible") return value ? "visible" : "hidden";
  if (Array.isArray(value)) return value.length === 0 ? "nothing" : `“${value.join("; ")}”`;
  return value === "" ? "nothing" : `“${value}”`;
}
