import * as v from "valibot";
import { send } from "../shell/data/request.ts";
import { useQuery } from "../shell/data/use-query.ts";
import { dayBefore } from "../shell/format/format.ts";

const TemplatesSchema = v.object({
  templates: v.array(v.object({ id: v.number(), title: v.string() })),
});

/** Returns the templates by which lists can be filtered; none until they are loaded. */
export function useTemplates(): readonly { id: number; title: string }[] {
  const today = dayBefore(0);
  const load = () => send({ path: `/figures?from=${today}&to=${today}` }, TemplatesSchema);
  return useQuery(`templates?${today}`, load).value?.templates ?? [];
}
