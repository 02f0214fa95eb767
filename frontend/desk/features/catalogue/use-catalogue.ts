import type { Result } from "../../../src/shared/result.ts";
import type { Failure } from "../../shell/data/failure.ts";
import { invalidate, patchEntries } from "../../shell/data/query-cache.ts";
import { type Query, useQuery } from "../../shell/data/use-query.ts";
import { loadCatalogue, loadTemplate, type Template, type TemplateDetail } from "./api.ts";

const LIST = "catalogue?";
const DETAILS = "catalogue-template/";

/** Loads the templates, hidden ones included. */
export function useCatalogue(): Query<{ templates: Template[] }> {
  return useQuery(LIST, loadCatalogue);
}

/** Loads one template with its history. */
export function useTemplate(id: string): Query<TemplateDetail> {
  return useQuery(`${DETAILS}${id}/`, () => loadTemplate(id));
}

/** Shows a template as the server has stored it, and loads its history again. */
export function showStored(stored: Template): void {
  const key = `${DETAILS}${stored.id}/`;
  patchEntries<TemplateDetail>(key, (before) => ({ ...before, ...stored }));
  reloadCatalogue();
}

/** Loads what is shown of the catalogue again. */
export function reloadCatalogue(): void {
  invalidate(LIST);
  invalidate(DETAILS);
  // The titles by which other lists are filtered.
  invalidate("templates?");
}

/** Loads the template again if somebody else has changed it, and says that nothing is lost. */
export async function keepUp(
  change: Promise<Result<Template, Failure>>,
): Promise<Result<Template, Failure>> {
  const outcome = await change;
  if (outcome.ok || outcome.error.code !== "catalogue_outdated") return outcome;
  reloadCatalogue();
  const hint =
    "Nothing that you typed is lost. The other values are loaded: look at them and save again.";
  return { ok: false, error: { ...outcome.error, hint } };
}
