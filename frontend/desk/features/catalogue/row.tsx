import { ListRow, RowLink } from "../../shell/list/row.tsx";
import { Badge } from "../../shell/ui/badge.tsx";
import type { Template } from "./api.ts";
import { describeSaleState } from "./model.ts";
import { Picture } from "./picture.tsx";

interface TemplateRowProps {
  template: Template;
  address: string;
  isOpen: boolean;
}

/** A template in the list: picture, title, price, visibility and state. */
export function TemplateRow({ template, address, isOpen }: TemplateRowProps) {
  const { id, values, changed } = template;
  const { label, tone } = describeSaleState(template.state);
  return (
    <ListRow isOpen={isOpen}>
      <RowLink
        id={id}
        address={address}
        isOpen={isOpen}
        className="grid min-h-18 grid-cols-[4.5rem_minmax(0,1fr)_auto] items-center gap-x-3 gap-y-1 px-4 py-2.5 lg:px-5 @3xl:grid-cols-[4.5rem_minmax(0,1.4fr)_minmax(0,1fr)_minmax(0,1fr)_5.5rem] @3xl:gap-x-5 @3xl:[&]:min-h-14 @3xl:dense:[&]:min-h-8 @3xl:dense:py-0.5"
      >
        <span className="row-span-2 @3xl:row-span-1">
          <Picture template={template} className="w-18 @3xl:dense:w-10" />
        </span>
        <span className="truncate font-strong">{values.title}</span>
        <span className="hidden truncate text-small text-ink-soft @3xl:block">
          {values.category}
        </span>
        <span className="order-last col-span-2 flex flex-wrap gap-1.5 @3xl:order-none @3xl:col-span-1">
          <Badge tone={tone}>{label}</Badge>
          {!values.visible && <Badge tone="warning">Hidden</Badge>}
          {changed.length > 0 && <Badge tone="info">Changed</Badge>}
        </span>
        <span className="text-right font-strong">{values.price}</span>
      </RowLink>
    </ListRow>
  );
}
