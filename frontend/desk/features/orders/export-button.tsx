import { Download } from "lucide-react";
import { useAction } from "../../shell/data/use-action.ts";
import { dayBefore } from "../../shell/format/format.ts";
import { Button } from "../../shell/ui/button.tsx";
import { FailureNotice } from "../../shell/ui/failure-notice.tsx";
import { saveFile } from "../../shell/ui/save-file.ts";
import { useToast } from "../../shell/ui/toasts.tsx";
import { exportOrders, type OrderFilters } from "./api.ts";

/** Saves all orders of the current filters as CSV. */
export function ExportButton({ filters }: { filters: OrderFilters }) {
  const toast = useToast();
  const download = useAction(
    async () => {
      const file = await exportOrders(filters);
      if (file.ok) saveFile(file.value, `orders-${dayBefore(0)}.csv`);
      return file;
    },
    () => toast({ text: "The file is saved in the folder for downloads." }),
  );
  return (
    <>
      <Button
        icon={Download}
        className="max-sm:px-2.5"
        isPending={download.isPending}
        onClick={() => void download.run()}
      >
        Export
      </Button>
      {download.failure && <FailureNotice failure={download.failure} />}
    </>
  );
}
