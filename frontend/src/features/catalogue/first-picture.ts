import { type Picture, previews } from "../../previews/index.ts";
import { paths } from "../../shared/paths.ts";
import { sourceSet } from "../../shared/ui/source-set.ts";
import { activeCategory, shownTemplates } from "./model.ts";

/** How wide a card's picture is shown, as the `sizes` attribute of an image wants it. */
export const CARD_SIZES =
  "(min-width: 96rem) 20rem, (min-width: 80rem) 21vw, (min-width: 64rem) 28vw, (min-width: 40rem) 44vw, calc(100vw - 5rem)";

/**
 * Asks for the picture that the catalogue will show first, so that it travels beside the program
 * instead of after it. Other screens have none.
 */
export function preloadFirstPicture({ pathname, search }: Location): void {
  if (pathname !== paths.catalogue) return;
  const [template] = shownTemplates(activeCategory(new URLSearchParams(search)));
  const picture = template && previews[template.id]?.card;
  if (picture) document.head.append(preloadLink(picture));
}

function preloadLink(picture: Picture): HTMLLinkElement {
  const link = document.createElement("link");
  link.rel = "preload";
  link.as = "image";
  // A browser that cannot read the type leaves the link alone and fetches the other form later.
  link.type = "image/avif";
  link.imageSrcset = sourceSet(picture.avif);
  link.imageSizes = CARD_SIZES;
  link.fetchPriority = "high";
  return link;
}
