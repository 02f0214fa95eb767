import * as v from "valibot";
import { send } from "../../shell/data/request.ts";

const ItemSchema = v.object({
  id: v.string(),
  done: v.boolean(),
  details: v.array(v.string()),
});

const ChecklistSchema = v.object({
  items: v.array(ItemSchema),
  done: v.number(),
  has_provider: v.boolean(),
});

export type ChecklistItem = v.InferOutput<typeof ItemSchema>;

export function loadChecklist() {
  return send({ path: "/checklist" }, ChecklistSchema);
}
