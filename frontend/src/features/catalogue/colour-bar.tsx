import { Slot } from "../../shared/slots.tsx";
import { useCatalogue } from "../../shared/templates/use-catalogue.ts";

/** A decorative strip with the colours of the categories. */
export function ColourBar() {
  return (
    <div aria-hidden="true" className="mt-14 flex flex-wrap gap-1 print:hidden">
      <Slot name="categories">
        {useCatalogue().categories.map((category) => (
          <Slot key={category.name} of={category}>
            <span data-category={category.name} className="h-3 w-6 bg-swatch" />
          </Slot>
        ))}
      </Slot>
    </div>
  );
}
