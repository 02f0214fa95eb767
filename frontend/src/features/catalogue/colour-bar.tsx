import { CATEGORIES } from "../../shared/templates/templates.ts";

/** A decorative strip with the colours of the categories. */
export function ColourBar() {
  return (
    <div aria-hidden="true" className="mt-14 flex gap-1">
      {CATEGORIES.map((category) => (
        <span key={category} data-category={category} className="h-3 w-6 bg-swatch" />
      ))}
    </div>
  );
}
