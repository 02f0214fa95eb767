import type { Picture } from "../../previews/index.ts";
import { sourceSet } from "./source-set.ts";

interface ProofPictureProps {
  picture: Picture;
  alt: string;
  /** The displayed widths, in the format of the `sizes` attribute. */
  sizes: string;
  /** Whether the picture is loaded at once; others are loaded when they are near the viewport. */
  first?: boolean;
  className?: string;
}

/** The picture of a rendered e-mail, in the smallest format that the browser supports. */
export function ProofPicture({ picture, alt, sizes, first = false, className }: ProofPictureProps) {
  return (
    <picture>
      <source type="image/avif" srcSet={sourceSet(picture.avif)} sizes={sizes} />
      <img
        src={picture.webp.at(-1)?.src}
        srcSet={sourceSet(picture.webp)}
        sizes={sizes}
        width={picture.width}
        height={picture.height}
        alt={alt}
        loading={first ? "eager" : "lazy"}
        fetchPriority={first ? "high" : "auto"}
        decoding="async"
        className={className}
      />
    </picture>
  );
}
