import { type RefObject, useEffect, useRef } from "react";
import { useLocation } from "react-router-dom";

/** Sets the title of the document: the screen before the name of the application. */
export function useTitle(screen: string, application = "Desk"): void {
  useEffect(() => {
    document.title = `${screen} · ${application}`;
  }, [screen, application]);
}

/** The key of an address that was opened and not navigated to. */
const FIRST = "default";

/** Returns a heading that gets the focus when it appears after a navigation, for screen readers. */
export function useHeadingFocus(): RefObject<HTMLHeadingElement | null> {
  const heading = useRef<HTMLHeadingElement>(null);
  const { key } = useLocation();
  const isFirst = useRef(key === FIRST);
  useEffect(() => {
    if (!isFirst.current) heading.current?.focus({ preventScroll: true });
  }, []);
  return heading;
}
