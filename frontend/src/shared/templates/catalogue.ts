import * as v from "valibot";

const PictureSchema = v.object({
  src: v.string(),
  /** The media type. */
  type: v.string(),
  /** In pixels. */
  width: v.number(),
  height: v.number(),
  alt: v.string(),
});

const TemplateSchema = v.object({
  id: v.number(),
  title: v.string(),
  /** Name of one of the categories. */
  category: v.string(),
  /** The displayed price, with the dollar sign. */
  price: v.string(),
  /** The two lines on the card. */
  summary: v.string(),
  description: v.string(),
  /** Five features. */
  features: v.array(v.string()),
  /** URL at the payment provider; a template without one is a custom design. */
  link: v.optional(v.string()),
  /** The picture that the owner gives in place of the built-in ones. */
  picture: v.optional(PictureSchema),
});

const CategorySchema = v.object({
  name: v.string(),
  tagline: v.string(),
  benefits: v.array(v.string()),
});

const CatalogueSchema = v.object({
  /** The templates on sale, in the order of the cards. */
  templates: v.array(TemplateSchema),
  /** The categories of these templates, in the order of the filter row. */
  categories: v.array(CategorySchema),
});

export type Template = Readonly<v.InferOutput<typeof TemplateSchema>>;
export type Category = Readonly<v.InferOutput<typeof CategorySchema>>;
export type Catalogue = Readonly<v.InferOutput<typeof CatalogueSchema>>;

const StoredSchema = v.pipe(v.string(), v.parseJson(), CatalogueSchema);

/** Reads the catalogue that the server wrote into the page. */
export function readCatalogue(page: Document): Catalogue {
  return v.parse(StoredSchema, page.getElementById("basalt-catalogue")?.textContent ?? "");
}

/** Returns the template with the id of a path. Ids have one spelling: `01` and `1.0` are unknown. */
export function findTemplate(
  { templates }: Catalogue,
  id: string | null | undefined,
): Template | undefined {
  return templates.find((template) => String(template.id) === id);
}

/** Returns the category of a template. */
export function findCategory({ categories }: Catalogue, name: string): Category | undefined {
  return categories.find((category) => category.name === name);
}
