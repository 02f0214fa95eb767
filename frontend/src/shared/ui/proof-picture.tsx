import { type ReactNode, useEffect, useRef, useState } from "react";
import type { ShownPicture } from "../templates/use-preview.ts";
import { sourceSet } from "./source-set.ts";

interface ProofPictureProps {
  picture: ShownPicture;
  alt: string;
  /** The displayed widths, in the format of the `sizes` attribute. */
  sizes: string;
  /** Whether the picture is loaded at once; others are loaded when they are near the viewport. */
  first?: boolean;
  className?: string;
  /** Shown if the picture cannot be loaded. */
  fallback: ReactNode;
}

/** The picture of a rendered e-mail, in the smallest format that the browser supports. */
export function ProofPicture(props: ProofPictureProps) {
  const { picture, alt, sizes, first = false, className, fallback } = props;
  const image = useRef<HTMLImageElement>(null);
  const [isBroken, setBroken] = useState(false);
  // A picture of the server's page can fail before the page listens.
  useEffect(() => {
    if (image.current?.complete && image.current.naturalWidth === 0 && image.current.currentSrc)
      setBroken(true);
  }, []);
  if (isBroken) return fallback;
  return (
    <picture>
      <source type={picture.type ?? "image/avif"} srcSet={sourceSet(picture.avif)} sizes={sizes} />
      <img
        ref={image}
        src={(picture.webp.at(-1) ?? picture.avif.at(-1))?.src}
        srcSet={picture.webp.length > 0 ? sourceSet(picture.webp) : undefined}
        sizes={sizes}
        width={picture.width}
        height={picture.height}
        alt={alt}
        loading={first ? "eager" : "lazy"}
        fetchPriority={first ? "high" : "auto"}
        decoding="async"
        onError={() => setBroken(true)}
        className={className}
      />
    </picture>
  );
}
