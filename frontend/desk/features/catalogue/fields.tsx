import { Button } from "../../shell/ui/button.tsx";
import { TextArea, TextField } from "../../shell/ui/field.tsx";
import type { Template, UploadedFile, Values } from "./api.ts";
import { PictureField, ProductField } from "./files.tsx";
import { type Entry, formatValue, type Key, nameValue } from "./model.ts";

interface TemplateFieldsProps {
  /** The stored values. */
  present: Values;
  /** Who has stored them. */
  author: string | null | undefined;
  /** What buyers get now. */
  product: Template["product"];
  /** The uploaded files that the history names. */
  files: readonly UploadedFile[];
  entryOf: (key: Key) => Entry;
  problemOf: (key: Key) => string | undefined;
  /** Whether somebody else has stored another value since the owner began to type. */
  isDisputed: (key: Key) => boolean;
  onWrite: (key: Key, entry: Entry) => void;
  /** Replaces what was typed by the stored value. */
  onTake: (key: Key) => void;
}

const HINTS: Partial<Record<Key, string>> = {
  price: "A dollar sign and an amount, such as $28 or $28.50.",
  summary: "The text on the card: at most 60 characters.",
  description: "The text on the page: at most 400 characters, without line breaks.",
  features: "Five different ones, one in each line.",
  link: "An https address at the payment provider. Without one, the template is made to order.",
  category:
    "Its name on the card and in the row of filters. A new one begins a category of its own.",
  picture_alt: "What the picture shows, for visitors who cannot see it: at most 160 characters.",
  payment_reference:
    "The ids of payment link, item or variant at the provider, one in each line. They tell which template a payment is for.",
};

const LONG: readonly Key[] = ["description", "features", "payment_reference"];

/** The fields of a template. */
export function TemplateFields(props: TemplateFieldsProps) {
  const { entryOf, onWrite, product, files } = props;
  const picture = String(entryOf("picture"));
  return (
    <>
      <label className="flex min-h-10 w-fit items-center gap-2.5">
        <input
          type="checkbox"
          name="visible"
          checked={entryOf("visible") === true}
          onChange={(event) => onWrite("visible", event.target.checked)}
          className="size-4 accent-ink"
        />
        Visible in the shop
      </label>
      <Dispute field="visible" {...props} />
      <TemplateField field="title" {...props} />
      <TemplateField field="category" {...props} />
      <div className="max-w-48">
        <TemplateField field="price" {...props} />
      </div>
      <TemplateField field="summary" {...props} />
      <TemplateField field="description" {...props} />
      <TemplateField field="features" {...props} />
      <div className="space-y-5">
        <PictureField value={picture} onChange={(id) => onWrite("picture", id)} />
        <Dispute field="picture" {...props} />
        {picture !== "" && <TemplateField field="picture_alt" {...props} />}
      </div>
      <div>
        <ProductField
          value={String(entryOf("product_file"))}
          onChange={(id) => onWrite("product_file", id)}
          product={product}
          files={files}
        />
        <Dispute field="product_file" {...props} />
      </div>
      <TemplateField field="link" {...props} />
      <TemplateField field="payment_reference" {...props} />
    </>
  );
}

function TemplateField({ field, ...props }: TemplateFieldsProps & { field: Key }) {
  const control = {
    label: nameValue(field),
    name: field,
    value: String(props.entryOf(field)),
    hint: HINTS[field],
    error: props.problemOf(field),
    autoComplete: "off",
  };
  const write = (text: string) => props.onWrite(field, text);
  return (
    <div>
      {LONG.includes(field) ? (
        <TextArea {...control} onChange={(event) => write(event.target.value)} />
      ) : (
        <TextField
          {...control}
          inputMode={field === "link" ? "url" : undefined}
          onChange={(event) => write(event.target.value)}
        />
      )}
      <Dispute field={field} {...props} />
    </div>
  );
}

/** Says that somebody else has changed the value, which stays unless the owner saves. */
function Dispute({
  field,
  present,
  author,
  files,
  isDisputed,
  onTake,
}: TemplateFieldsProps & { field: Key }) {
  if (!isDisputed(field)) return null;
  const name = nameValue(field);
  return (
    <div
      role="alert"
      className="mt-2 rounded-medium border border-line bg-memo p-3 text-small wrap-anywhere"
    >
      <p>
        {author ?? "Another owner"} has changed this to {formatValue(field, present[field], files)}.
        Saving replaces it by yours.
      </p>
      <Button className="mt-2" onClick={() => onTake(field)}>
        Use that <span className="sr-only">for {name}</span>
      </Button>
    </div>
  );
}
