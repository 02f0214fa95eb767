import { useEffect, useRef, useState } from "react";
import {
  type Location,
  Outlet,
  ScrollRestoration,
  useLocation,
  useNavigation,
} from "react-router-dom";
import { isTemplatePath, routes } from "../shared/paths.ts";
import { tabStorage } from "../shared/tab-storage.ts";
import { SellerSection } from "./seller-section.tsx";
import { SheetSkeleton, TemplateSkeleton } from "./skeletons.tsx";

/** Milliseconds after which a screen that is still loading is replaced by its outline. */
const PATIENCE = 200;

const SCROLL_POSITIONS = "scroll-positions";

/** The frame of every screen: restores scroll positions and announces navigations to screen readers. */
export function Layout() {
  useHeadingFocus();
  const awaited = useAwaitedScreen();
  return (
    <>
      {awaited === undefined ? (
        <Outlet />
      ) : isTemplatePath(awaited) ? (
        <TemplateSkeleton />
      ) : (
        <SheetSkeleton />
      )}
      <SellerSection />
      <ScrollRestoration getKey={scrollKey} storageKey={SCROLL_POSITIONS} />
    </>
  );
}

/** Forgets the scroll positions of this tab when the shop is opened again, not reloaded or returned to. */
export function forgetScrollPositions(): void {
  const [entry] = performance.getEntriesByType("navigation") as PerformanceNavigationTiming[];
  if (entry?.type !== "navigate") return;
  tabStorage.remove(SCROLL_POSITIONS);
}

/** The catalogue has one scroll position, to which its links lead back; other screens have one per visit. */
function scrollKey({ pathname, key }: Location): string {
  return pathname === routes.catalogue ? pathname : key;
}

/** Returns the path of another screen whose script has been loading for a while. */
function useAwaitedScreen(): string | undefined {
  const { pathname } = useLocation();
  const next = useNavigation().location?.pathname;
  const [awaited, setAwaited] = useState<string>();
  useEffect(() => {
    setAwaited(undefined);
    if (next === undefined || next === pathname) return;
    const timer = setTimeout(() => setAwaited(next), PATIENCE);
    return () => clearTimeout(timer);
  }, [next, pathname]);
  return next === undefined ? undefined : awaited;
}

/** Moves the focus to the heading after a navigation, but not on the first screen. */
function useHeadingFocus(): void {
  const { pathname } = useLocation();
  const shown = useRef(pathname);
  useEffect(() => {
    if (shown.current === pathname) return;
    shown.current = pathname;
    document.querySelector<HTMLElement>("h1")?.focus({ preventScroll: true });
  }, [pathname]);
}
