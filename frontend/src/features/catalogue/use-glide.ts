import { type RefObject, useLayoutEffect, useRef } from "react";

const DURATION = 260;
const EASING = "cubic-bezier(0.2, 0.7, 0.2, 1)";

/**
 * Moves the items of a list from their previous to their new positions when `filter` changes, so that
 * what stays can be followed.
 */
export function useGlide(list: RefObject<HTMLElement | null>, filter: string | undefined): void {
  const before = useRef<{ filter: string | undefined; places: Map<Element, DOMRect> }>(undefined);
  useLayoutEffect(() => {
    const items = [...(list.current?.children ?? [])];
    const places = new Map(items.map((item) => [item, placeIn(list.current, item)]));
    const earlier = before.current;
    before.current = { filter, places };
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (!earlier || earlier.filter === filter || isStill) return;
    for (const [item, place] of places) {
      const from = earlier.places.get(item);
      if (from) glide(item, from.x - place.x, from.y - place.y);
    }
  });
}

/** Returns the position of an item in its list, which scrolling does not change. */
function placeIn(list: HTMLElement | null, item: Element): DOMRect {
  const origin = list?.getBoundingClientRect() ?? new DOMRect();
  const place = item.getBoundingClientRect();
  return new DOMRect(place.x - origin.x, place.y - origin.y, place.width, place.height);
}

function glide(item: Element, x: number, y: number): void {
  if (x === 0 && y === 0) return;
  item.animate([{ transform: `translate(${x}px, ${y}px)` }, {}], {
    duration: DURATION,
    easing: EASING,
  });
}
