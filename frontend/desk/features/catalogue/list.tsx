import { Plus } from "lucide-react";
import { Link } from "react-router-dom";
import { formatPlural } from "../../shell/format/format.ts";
import { PageHeader } from "../../shell/frame/page-header.tsx";
import { DensityButton } from "../../shell/list/density.tsx";
import { useRowFocus } from "../../shell/list/use-row-focus.ts";
import { useRowKeys } from "../../shell/list/use-row-keys.ts";
import { Announcement } from "../../shell/ui/announcement.tsx";
import { buttonClass } from "../../shell/ui/button.tsx";
import { FailureNotice } from "../../shell/ui/failure-notice.tsx";
import { ListSkeleton } from "../../shell/ui/skeleton.tsx";
import { TemplateRow } from "./row.tsx";
import { useCatalogue } from "./use-catalogue.ts";

/** The list of templates in the order of the shop. */
export function CatalogueList({ open }: { open: string | undefined }) {
  const { value, failure, reload } = useCatalogue();
  const rows = value?.templates ?? [];
  const addresses = rows.map(({ id }) => `/catalogue/${id}`);
  const position = rows.findIndex(({ id }) => String(id) === open);
  const element = useRowKeys({ noun: "template", addresses, open: position });
  useRowFocus(element, open);
  return (
    <>
      <PageHeader
        title="Catalogue"
        actions={
          <>
            <Link to="/catalogue/new" className={buttonClass("plain")}>
              <Plus aria-hidden="true" className="size-4" />
              Add template
            </Link>
            <DensityButton />
          </>
        }
      />
      {failure && (
        <div className="p-4 lg:px-5">
          <FailureNotice failure={failure} onRetry={reload} />
        </div>
      )}
      <Announcement>{value ? formatPlural(rows.length, "template") : ""}</Announcement>
      {!value && !failure && <ListSkeleton />}
      <ul ref={element}>
        {rows.map((template, row) => (
          <TemplateRow
            key={template.id}
            template={template}
            address={addresses[row] ?? ""}
            isOpen={row === position}
          />
        ))}
      </ul>
    </>
  );
}
