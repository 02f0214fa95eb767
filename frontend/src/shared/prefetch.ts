import { createContext, useContext } from "react";

/** A screen whose part of the program is loaded on demand. */
export type LazyScreen = "template" | "submission";

/** Loads the part of the program that shows a screen. Provided by the app; empty outside of it. */
export const ScreenLoaders = createContext<
  Readonly<Partial<Record<LazyScreen, () => Promise<unknown>>>>
>({});

/**
 * Returns the event handlers of a link that load its screen once a pointer, a finger or the focus
 * comes near. A failure is reported by the visit itself.
 */
export function usePrefetch(screen: LazyScreen) {
  const load = useContext(ScreenLoaders)[screen];
  const start = () => {
    load?.().catch(() => undefined);
  };
  return { onPointerEnter: start, onTouchStart: start, onFocus: start };
}
