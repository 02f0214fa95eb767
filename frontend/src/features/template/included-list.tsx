import { CheckList } from "../../shared/ui/check-list.tsx";

const INCLUDED = [
  "HTML & CSS source files",
  "Responsive design for all devices",
  "Easy customization guide",
  "Compatible with all major email platforms",
  "Lifetime updates and support",
];

/** The list of contents that all templates have in common. */
export function IncludedList() {
  return (
    <section className="sm:px-6 sm:py-2">
      <h2 className="mb-5 text-title wrap-anywhere">{"What's Included"}</h2>
      <CheckList items={INCLUDED} />
    </section>
  );
}
