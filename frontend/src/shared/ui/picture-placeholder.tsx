const LINES = ["w-11/12", "w-full", "w-4/5"];

/** Drawn in place of a picture that is missing or cannot be loaded: the outline of an e-mail. */
export function PicturePlaceholder({ label, category }: { label: string; category: string }) {
  return (
    <div
      role="img"
      aria-label={label}
      data-category={category}
      className="flex aspect-4/5 w-full flex-col gap-[5%] overflow-hidden bg-sheet p-[9%]"
    >
      <div className="h-[3%] w-1/3 bg-swatch" />
      <div className="h-[34%] bg-badge" />
      <div className="h-[6%] w-3/4 bg-line" />
      <div className="flex flex-col gap-3">
        {LINES.map((width) => (
          <div key={width} className={`h-1.5 bg-wall ${width}`} />
        ))}
      </div>
      <div className="h-[8%] w-2/5 rounded-small bg-swatch" />
    </div>
  );
}
