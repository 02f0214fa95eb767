import { Trash2 } from "lucide-react";
import { useState } from "react";
import { useNavigate } from "react-router-dom";
import { formatCount } from "../../shell/format/format.ts";
import { useFilters } from "../../shell/list/use-filters.ts";
import { Button } from "../../shell/ui/button.tsx";
import { DeleteDialog } from "./delete-dialog.tsx";

interface BulkBarProps {
  ids: readonly string[];
  /** How many submissions are listed. */
  total: number;
  onAll: () => void;
  onNone: () => void;
}

/** The actions on the selected submissions. */
export function BulkBar({ ids, total, onAll, onNone }: BulkBarProps) {
  const [isAsking, setAsking] = useState(false);
  const { query } = useFilters();
  const navigate = useNavigate();
  return (
    <div className="sticky top-14 z-20 flex flex-wrap items-center gap-x-1 gap-y-2 border-b border-line bg-wall px-4 py-2 lg:top-0 lg:px-5">
      <p role="status" className="mr-auto text-small font-strong">
        {formatCount(ids.length)} selected
      </p>
      {ids.length < total && (
        <Button kind="quiet" onClick={onAll}>
          All {total}
        </Button>
      )}
      <Button kind="quiet" onClick={onNone}>
        Clear
      </Button>
      <Button icon={Trash2} onClick={() => setAsking(true)}>
        Delete
      </Button>
      {isAsking && (
        <DeleteDialog
          ids={ids}
          onClose={() => setAsking(false)}
          onDeleted={() => {
            setAsking(false);
            onNone();
            navigate(`/submissions${query}`);
          }}
        />
      )}
    </div>
  );
}
