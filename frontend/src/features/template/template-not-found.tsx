import { Link } from "react-router-dom";
import { RETURNING } from "../../shared/catalogue-place.ts";
import { usePageHead } from "../../shared/page-head.ts";
import { buttonClass } from "../../shared/ui/button.ts";
import { Notice } from "../../shared/ui/notice.tsx";
import { useCataloguePath } from "../../shared/use-catalogue-path.ts";

/** The screen for unknown template ids. */
export function TemplateNotFound() {
  usePageHead({ title: "Template Not Found" });
  return (
    <Notice heading="Template Not Found">
      <Link to={useCataloguePath()} state={RETURNING} className={buttonClass("accent")}>
        Back to Templates
      </Link>
    </Notice>
  );
}
