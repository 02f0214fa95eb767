import { renderToString } from "react-dom/server";
import { createMemoryRouter } from "react-router-dom";
import type { Outcome } from "../features/submission/outcome.ts";
import { HeadCollector, type PageHead } from "../shared/page-head.ts";
import { paths } from "../shared/paths.ts";
import type { Seller } from "../shared/seller.ts";
import { SlotContext } from "../shared/slots.tsx";
import type { Catalogue, Category, Template } from "../shared/templates/catalogue.ts";
import {
  type BuiltInPreview,
  builtInPreviews,
  type FurtherMail,
  PreviewContext,
  type ShownPicture,
} from "../shared/templates/use-preview.ts";
import { sourceSet } from "../shared/ui/source-set.ts";
import { loadScreen, screenRoutes } from "./routes.tsx";
import { Shop } from "./shop.tsx";

/** A page with slots in place of data, as the server fills it. */
export interface RenderedPage {
  html: string;
  head: PageHead;
}

/** A value that the server puts in. In the browser it may be a number. */
function slot(name: string): never {
  return `{{${name}}}` as never;
}

/** Ids of templates: one slot in three spellings, because cards need keys that differ. */
const ID: number = slot("id");
const FURTHER_ID: number = slot(" id ");
const BARE_ID: number = slot(" id");

function template(id: number, link?: string): Template {
  const features = [1, 2, 3, 4, 5].map((number) => slot(`feature${number}`));
  return {
    id,
    title: slot("title"),
    category: slot("category"),
    price: slot("price"),
    summary: slot("summary"),
    description: slot("description"),
    features,
    ...(link && { link }),
  };
}

function category(name: string): Category {
  const benefits = [1, 2, 3].map((number) => slot(`benefit${number}`));
  return { name, tagline: slot("tagline"), benefits };
}

/** The first card of a list, a further one, and one of a template without pictures. */
const CARDS = { first: template(ID), further: template(FURTHER_ID), bare: template(BARE_ID) };
const CHOSEN = category("{{name}}");
const OTHER = category("{{ name }}");
const NAMES = new Map<object, string>([
  [CARDS.first, "first"],
  [CARDS.further, "further"],
  [CARDS.bare, "bare"],
  [CHOSEN, "chosen"],
  [OTHER, "other"],
]);

/** The width of a picture in slots, which `withoutWidth` removes with its unit. */
const NO_WIDTH = 1;

function picture(kind: "card" | "detail"): ShownPicture {
  return {
    type: slot(`${kind}_type`),
    avif: [{ src: slot(`${kind}_avif`), width: NO_WIDTH }],
    webp: [{ src: slot(`${kind}_webp`), width: NO_WIDTH }],
    width: slot(`${kind}_width`),
    height: slot(`${kind}_height`),
  };
}

/** Removes the width after a source set, which the slot already contains. */
function withoutWidth(html: string): string {
  return html
    .replaceAll(/(\{\{\w+_(?:avif|webp)\}\}) 1w/g, "$1")
    .replaceAll(/src="\{\{(\w+)_(?:avif|webp)\}\}"/g, 'src="{{$1_src}}"');
}

/** The views that only a script shows. */
const LATER: ShownPicture = { avif: [], webp: [], width: 0, height: 0 };

/** One of the other letters or layouts, which the server repeats for each. */
const FURTHER_MAIL: FurtherMail = {
  name: slot("mail_name"),
  mail: slot("mail_number"),
  alt: slot("mail_alt"),
  picture: {
    avif: [{ src: slot("mail_avif"), width: NO_WIDTH }],
    webp: [],
    width: slot("mail_width"),
    height: slot("mail_height"),
  },
};

const PREVIEW: BuiltInPreview = {
  alt: slot("alt"),
  card: picture("card"),
  detail: picture("detail"),
  phone: LATER,
  dark: LATER,
  unloaded: LATER,
  windows: LATER,
  further: [FURTHER_MAIL],
};

interface Rendering {
  path: string;
  catalogue?: Catalogue;
  outcome?: Outcome;
}

const ALL: Catalogue = { templates: Object.values(CARDS), categories: [OTHER] };
const ONE_CATEGORY: Catalogue = {
  templates: Object.values(CARDS).map((card) => inCategory(card)),
  categories: [CHOSEN, OTHER],
};

/** Returns the card in the chosen category; it is the same alternative. */
function inCategory(card: Template): Template {
  const copy = { ...card, category: CHOSEN.name };
  NAMES.set(copy, NAMES.get(card) ?? "");
  return copy;
}

function oneTemplate(id: number, link?: string): Catalogue {
  return { templates: [template(id, link)], categories: [category("{{category}}")] };
}

/** A template with a picture that the owner gives. */
function oneOwn(link?: string): Catalogue {
  const { templates, categories } = oneTemplate(BARE_ID, link);
  return { templates: templates.map((bare) => ({ ...bare, picture: OWN_PICTURE })), categories };
}

const OWN_PICTURE: Template["picture"] = {
  src: slot("detail_src"),
  type: slot("detail_type"),
  width: slot("detail_width"),
  height: slot("detail_height"),
  alt: slot("alt"),
};

const SELLER: Seller = {
  name: slot("seller_name"),
  address: slot("seller_address"),
  email: slot("seller_email"),
  documents: [{ path: slot("document_path"), title: slot("document_title") }],
};

const DETAILS = slot("details");

/** The pages of the shop. */
const PAGES: Record<string, Rendering> = {
  catalogue: { path: paths.catalogue, catalogue: ALL },
  category: { path: `${paths.catalogue}?category={{name}}`, catalogue: ONE_CATEGORY },
  template: { path: paths.template(ID), catalogue: oneTemplate(ID, slot("link")) },
  "template-custom": { path: paths.template(ID), catalogue: oneTemplate(ID) },
  "template-own": { path: paths.template(BARE_ID), catalogue: oneOwn(slot("link")) },
  "template-own-custom": { path: paths.template(BARE_ID), catalogue: oneOwn() },
  "template-bare": { path: paths.template(BARE_ID), catalogue: oneTemplate(BARE_ID, slot("link")) },
  "template-bare-custom": { path: paths.template(BARE_ID), catalogue: oneTemplate(BARE_ID) },
  "template-not-found": { path: paths.template(0) },
  submission: { path: paths.submission, outcome: { details: DETAILS } },
  "submission-refused": {
    path: paths.submission,
    outcome: { details: DETAILS, refusal: slot("refusal") },
  },
  "submission-received": { path: paths.submission, outcome: { isReceived: true } },
  "not-found": { path: "/nowhere" },
};

/** Renders all pages. */
export async function renderPages(): Promise<Record<string, RenderedPage>> {
  const pages: Record<string, RenderedPage> = {};
  for (const [name, rendering] of Object.entries(PAGES)) pages[name] = await render(rendering);
  return pages;
}

async function render({ path, catalogue, outcome }: Rendering): Promise<RenderedPage> {
  const routes = screenRoutes();
  await loadScreen(routes, path);
  const router = createMemoryRouter(routes, { initialEntries: [path] });
  let head: PageHead | undefined;
  const html = renderToString(
    <SlotContext value={NAMES}>
      <PreviewContext value={{ [ID]: PREVIEW, [FURTHER_ID]: PREVIEW }}>
        <HeadCollector value={(collected) => (head = collected)}>
          <Shop
            router={router}
            catalogue={catalogue ?? { templates: [], categories: [] }}
            outcome={outcome ?? {}}
            seller={SELLER}
          />
        </HeadCollector>
      </PreviewContext>
    </SlotContext>,
  );
  if (!head) throw new Error(`${path} has no metadata`);
  return { html: withoutWidth(html), head };
}

/** Returns the pictures of the templates as the server puts them into slots. */
export function listPictures(): object[] {
  return Object.entries(builtInPreviews).map(([id, { alt, card, detail, further }]) => ({
    id: Number(id),
    alt,
    card: formatPicture(card),
    detail: formatPicture(detail),
    mails: further.map(({ name, mail, alt, picture }) => ({
      name,
      mail,
      alt,
      ...formatPicture(picture),
    })),
  }));
}

function formatPicture({ avif, webp, width, height }: ShownPicture): object {
  return {
    avif: sourceSet(avif),
    webp: sourceSet(webp),
    src: (webp.at(-1) ?? avif.at(-1))?.src,
    width,
    height,
  };
}
