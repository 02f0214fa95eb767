/** A list with a check mark before each item, drawn by the style sheet: pages have many of them. */
export function CheckList({ items, small = false }: { items: readonly string[]; small?: boolean }) {
  return (
    <ul
      className={
        small
          ? "space-y-1 text-small text-ink-soft sm:group-only:space-y-2 sm:group-only:text-body"
          : "space-y-2.5"
      }
    >
      {items.map((item) => (
        <li key={item} className={`check-mark flex items-start ${small ? "gap-2" : "gap-3"}`}>
          <span className="min-w-0 wrap-anywhere">{item}</span>
        </li>
      ))}
    </ul>
  );
}
