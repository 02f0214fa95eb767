import * as v from "valibot";
import { send } from "../../shell/data/request.ts";

const Amounts = v.array(v.object({ amount_minor: v.number(), currency: v.string() }));

const COUNTS = { views: v.number(), requests: v.number(), purchases: v.number() };

const FiguresSchema = v.object({
  from: v.string(),
  to: v.string(),
  days: v.array(v.object({ date: v.string(), ...COUNTS })),
  templates: v.array(v.object({ id: v.number(), title: v.string(), ...COUNTS, revenue: Amounts })),
  totals: v.object({ ...COUNTS, revenue: Amounts }),
  /** What came from tests in the range, whether it is counted or not. */
  tests: v.optional(v.object({ views: v.number(), purchases: v.number() }), {
    views: 0,
    purchases: 0,
  }),
});

export type Figures = v.InferOutput<typeof FiguresSchema>;
export type Day = Figures["days"][number];
export type TemplateFigures = Figures["templates"][number];

/** Loads the figures of the days from the first to the last, both included, in UTC. */
export function loadFigures(from: string, to: string, hasTests: boolean) {
  const tests = hasTests ? "&tests=included" : "";
  return send({ path: `/figures?from=${from}&to=${to}${tests}` }, FiguresSchema);
}
