import * as v from "valibot";
import type { Result } from "../../../src/shared/result.ts";
import type { Failure } from "../../shell/data/failure.ts";
import { fetchFile, send } from "../../shell/data/request.ts";

const STATES = ["sells", "made_to_order", "no_product_file", "placeholder_link"] as const;

const ValuesSchema = v.object({
  title: v.string(),
  category: v.string(),
  price: v.string(),
  summary: v.string(),
  description: v.string(),
  features: v.array(v.string()),
  link: v.string(),
  payment_reference: v.array(v.string()),
  visible: v.boolean(),
  picture: v.string(),
  picture_alt: v.string(),
  product_file: v.string(),
});

const TEMPLATE = {
  id: v.number(),
  is_added: v.boolean(),
  revision: v.number(),
  state: v.picklist(STATES),
  has_picture: v.boolean(),
  product: v.nullish(v.object({ name: v.string(), size: v.number(), is_uploaded: v.boolean() })),
  page: v.string(),
  values: ValuesSchema,
  changed: v.array(v.string()),
  changed_at: v.nullish(v.string()),
  changed_by: v.nullish(v.string()),
};

const TemplateSchema = v.object(TEMPLATE);

const ListSchema = v.object({ templates: v.array(TemplateSchema) });

const ValueSchema = v.nullish(v.union([v.string(), v.boolean(), v.array(v.string())]), "");

const RevisionSchema = v.object({
  revision: v.number(),
  at: v.string(),
  author: v.string(),
  fields: v.array(v.object({ name: v.string(), before: ValueSchema, after: ValueSchema })),
});

const FileSchema = v.object({ file: v.string(), name: v.string(), size: v.number() });

const DetailSchema = v.object({
  ...TEMPLATE,
  history: v.array(RevisionSchema),
  files: v.array(FileSchema),
});

const UploadSchema = v.object({ file: v.string(), size: v.number(), name: v.nullish(v.string()) });

export type SaleState = (typeof STATES)[number];
export type Values = v.InferOutput<typeof ValuesSchema>;
export type Value = v.InferOutput<typeof ValueSchema>;
export type Template = v.InferOutput<typeof TemplateSchema>;
export type TemplateDetail = v.InferOutput<typeof DetailSchema>;
export type UploadedFile = v.InferOutput<typeof FileSchema>;
export type Revision = v.InferOutput<typeof RevisionSchema>;

export function loadCatalogue() {
  return send({ path: "/catalogue" }, ListSchema);
}

export function loadTemplate(id: string) {
  return send({ path: `/catalogue/${encodeURIComponent(id)}` }, DetailSchema);
}

/** Adds a template, which is hidden until the owner shows it. */
export function addTemplate(values: Partial<Values>) {
  return send({ method: "POST", path: "/catalogue", body: { values } }, TemplateSchema);
}

/** Uploads a picture, which is used when a template is saved with it. */
export function uploadPicture(file: File) {
  return send({ method: "POST", path: "/catalogue/pictures", upload: file }, UploadSchema);
}

/** Uploads a ZIP file for buyers, which is used when a template is saved with it. */
export function uploadProduct(file: File) {
  const path = `/catalogue/product-files?name=${encodeURIComponent(file.name)}`;
  return send({ method: "POST", path, upload: file }, UploadSchema);
}

/** Changes values of the revision that the owner saw; the server refuses it if there is a later one. */
export function changeTemplate(id: number, revision: number, values: Partial<Values>) {
  const body = { revision, values };
  return send({ method: "PATCH", path: `/catalogue/${id}`, body }, TemplateSchema);
}

/** Returns to the values of an earlier revision; 0 is the catalogue of the files. */
export function restoreTemplate(id: number, revision: number, to: number) {
  const body = { revision, to };
  return send({ method: "POST", path: `/catalogue/${id}/restore`, body }, TemplateSchema);
}

/**
 * Loads the picture of a template as a `data:` URL: the API answers scripts of the desk alone, and no elements.
 */
export async function loadPicture(id: number): Promise<Result<string, Failure>> {
  const file = await fetchFile(`/catalogue/${id}/picture`);
  if (!file.ok) return file;
  const reader = new FileReader();
  await new Promise((resolve) => {
    reader.onloadend = resolve;
    reader.readAsDataURL(file.value);
  });
  return { ok: true, value: String(reader.result ?? "") };
}
