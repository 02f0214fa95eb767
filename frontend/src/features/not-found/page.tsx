import { useEffect } from "react";
import { Link, useLocation } from "react-router-dom";
import { usePageHead } from "../../shared/page-head.ts";
import { paths } from "../../shared/paths.ts";
import { buttonClass } from "../../shared/ui/button.ts";
import { Notice } from "../../shared/ui/notice.tsx";

/** The screen for unknown paths. */
export function NotFoundPage() {
  const { pathname } = useLocation();
  usePageHead({ title: "404 - Page not found" });
  useEffect(() => console.error("404: nothing at this path:", pathname), [pathname]);
  return (
    <Notice figure="404" heading="Oops! Page not found">
      <Link to={paths.catalogue} className={buttonClass("accent")}>
        Return to Home
      </Link>
    </Notice>
  );
}
