import { SlidersHorizontal } from "lucide-react";
import { useCallback, useId, useState } from "react";
import { TemplateFilter } from "../../shared/template-filter.tsx";
import { SearchField } from "../../shell/list/search-field.tsx";
import type { Filters } from "../../shell/list/use-filters.ts";
import { Button } from "../../shell/ui/button.tsx";
import { TextField } from "../../shell/ui/field.tsx";

/** The search, and behind a button the filters by template and date. */
export function FilterBar({ filters }: { filters: Filters }) {
  const { get, set } = filters;
  const active = ["template", "from", "to"].filter((name) => get(name) !== "").length;
  const [isOpen, setOpen] = useState(active > 0);
  const panel = useId();
  const onSearch = useCallback((search: string) => set({ search }), [set]);
  return (
    <div className="pb-2">
      <div className="flex gap-2">
        <SearchField label="Search submissions" value={get("search")} onChange={onSearch} />
        <Button
          icon={SlidersHorizontal}
          aria-expanded={isOpen}
          aria-controls={isOpen ? panel : undefined}
          onClick={() => setOpen(!isOpen)}
          className="lg:min-h-10"
        >
          Filter
          {active > 0 && (
            <span className="rounded-small bg-ink px-1 text-note text-paper">
              {active}
              <span className="sr-only"> active</span>
            </span>
          )}
        </Button>
      </div>
      {isOpen && (
        <div id={panel} className="mt-3 grid gap-3 pb-1 @xl:grid-cols-[2fr_1fr_1fr_auto]">
          <TemplateFilter value={get("template")} onChange={(template) => set({ template })} />
          <DateField name="from" label="From" filters={filters} />
          <DateField name="to" label="To" filters={filters} />
          <Button
            kind="quiet"
            isDisabled={active === 0}
            onClick={() => set({ template: "", from: "", to: "" })}
            className="lg:min-h-10"
          >
            Clear
          </Button>
        </div>
      )}
    </div>
  );
}

interface DateFieldProps {
  name: "from" | "to";
  label: string;
  filters: Filters;
}

function DateField({ name, label, filters: { get, set } }: DateFieldProps) {
  const other = name === "from" ? { max: get("to") } : { min: get("from") };
  return (
    <div className="flex items-center gap-2">
      <span aria-hidden="true" className="w-10 shrink-0 text-small text-ink-soft @xl:w-auto">
        {label}
      </span>
      <div className="min-w-0 flex-1">
        <TextField
          label={label}
          isLabelHidden
          type="date"
          {...other}
          value={get(name)}
          onChange={(event) => set({ [name]: event.target.value })}
        />
      </div>
    </div>
  );
}
