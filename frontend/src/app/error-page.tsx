import { useEffect } from "react";
import { useRouteError } from "react-router-dom";
import { usePageHead } from "../shared/page-head.ts";
import { paths } from "../shared/paths.ts";
import { buttonClass } from "../shared/ui/button.ts";
import { Notice } from "../shared/ui/notice.tsx";

/** Shown when a screen fails. Its link reloads the page, because a client-side navigation may fail again. */
export function ErrorPage() {
  const error = useRouteError();
  usePageHead({ title: "Unexpected Application Error!" });
  useEffect(() => console.error("A screen could not be shown:", error), [error]);
  return (
    <Notice heading="Unexpected Application Error!">
      <a href={paths.catalogue} className={buttonClass("accent")}>
        Return to Home
      </a>
    </Notice>
  );
}
