import { SelectField } from "../shell/ui/field.tsx";
import { useTemplates } from "./templates.ts";

interface TemplateFilterProps {
  value: string;
  onChange: (value: string) => void;
}

/** A choice of one template or all. */
export function TemplateFilter({ value, onChange }: TemplateFilterProps) {
  const templates = useTemplates();
  const isKnown = value === "" || templates.some(({ id }) => String(id) === value);
  return (
    <SelectField
      label="Template"
      isLabelHidden
      value={value}
      onChange={(event) => onChange(event.target.value)}
    >
      <option value="">All templates</option>
      {!isKnown && <option value={value}>Template {value}</option>}
      {templates.map(({ id, title }) => (
        <option key={id} value={id}>
          {title}
        </option>
      ))}
    </SelectField>
  );
}
