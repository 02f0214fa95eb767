import { Download } from "lucide-react";
import { useState } from "react";
import { useAction } from "../../shell/data/use-action.ts";
import { dayBefore } from "../../shell/format/format.ts";
import { Button } from "../../shell/ui/button.tsx";
import { Dialog } from "../../shell/ui/dialog.tsx";
import { FailureNotice } from "../../shell/ui/failure-notice.tsx";
import { saveFile } from "../../shell/ui/save-file.ts";
import { useToast } from "../../shell/ui/toasts.tsx";
import { exportSubmissions, type ListFilters, STATUSES } from "./api.ts";
import { describeStatus } from "./model.ts";

/** Saves all submissions of the current filters as a file. */
export function ExportMenu({ filters }: { filters: ListFilters }) {
  const [isOpen, setOpen] = useState(false);
  const toast = useToast();
  const download = useAction(async (format: "csv" | "json") => {
    const file = await exportSubmissions(filters, format);
    if (file.ok) saveFile(file.value, `submissions-${dayBefore(0)}.${format}`);
    return file;
  }, onSaved);

  function onSaved(): void {
    setOpen(false);
    toast({ text: "The file is saved in the folder for downloads." });
  }

  return (
    <>
      <Button icon={Download} onClick={() => setOpen(true)}>
        Export
      </Button>
      {isOpen && (
        <Dialog title="Export submissions" onClose={() => setOpen(false)}>
          <p className="text-ink-soft">{describeFilters(filters)}</p>
          {download.failure && (
            <div className="mt-4">
              <FailureNotice failure={download.failure} />
            </div>
          )}
          <div className="mt-5 flex flex-wrap gap-2">
            <Button
              kind="main"
              isPending={download.isPending}
              onClick={() => void download.run("csv")}
            >
              CSV for a spreadsheet
            </Button>
            <Button isDisabled={download.isPending} onClick={() => void download.run("json")}>
              JSON
            </Button>
          </div>
        </Dialog>
      )}
    </>
  );
}

/** Says which submissions the file contains. */
function describeFilters({ status, search, template, from, to }: ListFilters): string {
  const known = STATUSES.find((name) => name === status);
  const parts = [
    known ? `the status “${describeStatus(known).label}”` : "every status",
    search && `the search “${search}”`,
    template && `the template ${template}`,
    from && `from ${from}`,
    to && `until ${to}`,
  ];
  return `The file contains all submissions of this list, with ${parts.filter(Boolean).join(", ")}.`;
}
