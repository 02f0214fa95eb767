// The catalogue of the stand-in: values in the files, and the revisions of each template.
import { EMPTY_VALUES } from "../features/catalogue/model.ts";
import { fail, ok, type StandInAnswer, type StandInRequest } from "./answer.ts";
import { TEMPLATES } from "./data.ts";

type Values = Record<string, unknown>;

interface StoredRevision {
  at: string;
  author: string;
  changes: Values;
}

interface StandInTemplate {
  id: number;
  base: Values;
  revisions: StoredRevision[];
  isAdded?: boolean;
}

const templates: StandInTemplate[] = TEMPLATES.map(({ id, title }) => ({
  id,
  base: {
    title,
    category: "Newsletter",
    price: `$${id * 17}`,
    summary: "Ready to send this week.",
    description:
      "A template with a clear order, which reads well on a phone and prints on one page.",
    features: ["Three columns", "Dark and light", "Plain text", "Tested in Outlook", "Six colours"],
    link: id > 8 ? "" : `https://pay.example/${id}`,
    payment_reference: [],
    visible: true,
    picture: "",
    picture_alt: "",
    product_file: "",
  },
  revisions: [],
}));

/** Stores a revision of another owner, as if it came from another browser. */
export function changeElsewhere(id: number, changes: Values): void {
  const found = templates.find((template) => template.id === id);
  if (found) store(found, { ...presentChanges(found), ...changes }, "mara@shop.example");
}

/** Answers a request to `/catalogue`. */
export function answerCatalogue(
  { method, body }: StandInRequest,
  id: string,
  action: string,
): StandInAnswer {
  if (method === "POST" && id === "") return ok(add(body.values as Values));
  if (id === "pictures" || id === "product-files") {
    return ok({ file: crypto.randomUUID(), name: "file.zip", size: 1000 });
  }
  if (id === "") return ok({ templates: templates.map(format) });
  const found = templates.find((template) => String(template.id) === id);
  if (!found) return fail(404, "not_found", "the template does not exist");
  if (method === "GET") return ok({ ...format(found), history: historyOf(found), files: [] });
  if (body.revision !== found.revisions.length) {
    const author = found.revisions.at(-1)?.author;
    return fail(
      409,
      "catalogue_outdated",
      `The template was changed by ${author} since you opened it`,
    );
  }
  if (action === "restore") {
    const to = Number(body.to);
    store(found, found.revisions[to - 1]?.changes ?? {}, "owner@shop.example");
  } else {
    store(found, { ...presentChanges(found), ...(body.values as Values) }, "owner@shop.example");
  }
  return ok(format(found));
}

function add(values: Values) {
  const added = {
    id: templates.length + 1,
    base: { ...EMPTY_VALUES },
    revisions: [],
    isAdded: true,
  };
  templates.push(added);
  store(added, values, "owner@shop.example");
  return format(added);
}

function store(template: StandInTemplate, values: Values, author: string): void {
  const { base, revisions } = template;
  const changed = Object.entries(values).filter(([key, value]) => !isSame(base[key], value));
  revisions.push({ at: new Date().toISOString(), author, changes: Object.fromEntries(changed) });
}

function presentChanges({ revisions }: StandInTemplate): Values {
  return revisions.at(-1)?.changes ?? {};
}

function format(template: StandInTemplate) {
  const { id, base, revisions } = template;
  const changes = presentChanges(template);
  const values = { ...base, ...changes };
  return {
    id,
    is_added: template.isAdded ?? false,
    product: null,
    revision: revisions.length,
    state: values.link === "" ? "made_to_order" : "sells",
    has_picture: false,
    page: `/template/${id}`,
    values,
    changed: Object.keys(changes),
    changed_at: revisions.at(-1)?.at ?? null,
    changed_by: revisions.at(-1)?.author ?? null,
  };
}

function historyOf({ base, revisions }: StandInTemplate) {
  return revisions
    .map(({ at, author, changes }, index) => {
      const before: Values = { ...base, ...revisions[index - 1]?.changes };
      const after: Values = { ...base, ...changes };
      const names = Object.keys(after).filter((name) => !isSame(before[name], after[name]));
      const fields = names.map((name) => ({ name, before: before[name], after: after[name] }));
      return { revision: index + 1, at, author, fields };
    })
    .reverse();
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
