import type { Picture } from "../../previews/index.ts";
import { sourceSet } from "./source-set.ts";

interface ProofPictureProps {
  picture: Picture;
  alt: string;
  /** The widths it is shown at, as the `sizes` attribute of an image wants them. */
  sizes: string;
  /** Whether the reader sees it first; the others wait until they come near. */
  first?: boolean;
  className?: string;
}

/** A rendered e-mail, in the smallest form the browser can read. */
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
