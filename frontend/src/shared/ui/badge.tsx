/** The name of a category in its colour. */
export function Badge({ category }: { category: string }) {
  return (
    <span
      data-category={category}
      className="inline-block rounded-small bg-badge px-2 py-0.5 text-small font-strong whitespace-nowrap text-badge-ink"
    >
      {category}
    </span>
  );
}
