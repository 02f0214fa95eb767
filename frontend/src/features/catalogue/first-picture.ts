import { type Picture, previews } from "../../previews/index.ts";
import { paths } from "../../shared/paths.ts";
import { sourceSet } from "../../shared/ui/source-set.ts";
import { activeCategory, shownTemplates } from "./model.ts";

/** The displayed widths of the picture of a card, in the format of the `sizes` attribute. */
export const CARD_SIZES =
  "(min-width: 96rem) 20rem, (min-width: 80rem) 21vw, (min-width: 64rem) 28vw, (min-width: 40rem) 44vw, calc(100vw - 5rem)";

/**
 * Preloads the first picture of the catalogue, in parallel with the scripts. Other screens have none.
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
  // A browser without support for the type ignores the link and loads the other format later.
  link.type = "image/avif";
  link.imageSrcset = sourceSet(picture.avif);
  link.imageSizes = CARD_SIZES;
  link.fetchPriority = "high";
  return link;
}
