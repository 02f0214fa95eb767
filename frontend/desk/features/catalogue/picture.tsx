import { ImageOff } from "lucide-react";
import { pictureOf, type Template } from "./api.ts";

/** The picture of a template, in the proportions of those that networks show; its title is beside it. */
export function Picture({ template, className }: { template: Template; className: string }) {
  const frame = `block aspect-[40/21] overflow-hidden rounded-small border border-line bg-wall ${className}`;
  if (!template.has_picture) {
    return (
      <span className={`${frame} grid! place-items-center text-ink-soft`}>
        <ImageOff aria-hidden="true" className="size-4" />
      </span>
    );
  }
  return (
    <img
      src={pictureOf(template)}
      alt=""
      loading="lazy"
      decoding="async"
      className={`${frame} object-cover`}
    />
  );
}
