import { Trash2, UserPlus } from "lucide-react";
import { useState } from "react";
import { invalidate } from "../../shell/data/query-cache.ts";
import { Time } from "../../shell/format/time.tsx";
import { Badge } from "../../shell/ui/badge.tsx";
import { Button, IconButton } from "../../shell/ui/button.tsx";
import { useToast } from "../../shell/ui/toasts.tsx";
import { addOwner, type OtherOwner, removeOwner } from "./api.ts";
import { ChangeDialog } from "./change-dialog.tsx";
import { Panel } from "./panel.tsx";

/** Who may use the desk: list, add, remove. */
export function OwnersPanel({ owners }: { owners: readonly OtherOwner[] }) {
  const [isAdding, setAdding] = useState(false);
  const [removed, setRemoved] = useState<OtherOwner>();
  const [link, setLink] = useState<string>();
  const toast = useToast();
  return (
    <Panel
      title="Owners"
      action={
        <Button icon={UserPlus} onClick={() => setAdding(true)}>
          Add an owner
        </Button>
      }
    >
      {link && (
        <div role="status" className="mb-4 space-y-2 rounded-medium bg-memo p-3">
          <p>
            Give this link to the new owner. It is valid once, for 24 hours, and is shown only now:
          </p>
          <code className="block rounded-medium bg-sheet px-3 py-2 text-small wrap-anywhere select-all">
            {link}
          </code>
        </div>
      )}
      <ul className="divide-y divide-line rounded-medium border border-line">
        {owners.map((owner) => (
          <li key={owner.id} className="flex min-h-14 items-center gap-3 px-4 py-2">
            <div className="min-w-0 flex-1">
              <p className="font-strong wrap-anywhere">{owner.email}</p>
              <p className="text-small text-ink-soft">
                {owner.last_sign_in_at ? (
                  <>
                    Signed in <Time at={owner.last_sign_in_at} />
                  </>
                ) : (
                  "Has not signed in yet"
                )}
              </p>
            </div>
            {owner.is_you ? (
              <Badge tone="good">You</Badge>
            ) : (
              <IconButton
                icon={Trash2}
                label={`Remove the owner ${owner.email}`}
                onClick={() => setRemoved(owner)}
              />
            )}
          </li>
        ))}
      </ul>
      {isAdding && (
        <ChangeDialog
          title="Add an owner"
          submit="Add owner"
          field={{ label: "Email address", type: "email" }}
          act={addOwner}
          onDone={({ token }) => {
            setAdding(false);
            setLink(`${location.origin}/_desk/#invite=${token}`);
            invalidate("account");
          }}
          onClose={() => setAdding(false)}
        >
          <p>An owner sees and does everything at the desk, as you do.</p>
        </ChangeDialog>
      )}
      {removed && (
        <ChangeDialog
          title={`Remove the owner ${removed.email}?`}
          submit="Remove owner"
          act={(password) => removeOwner(password, removed.id)}
          onDone={() => {
            setRemoved(undefined);
            invalidate("account");
            toast({ text: "The owner is removed." });
          }}
          onClose={() => setRemoved(undefined)}
        >
          <p>The user stays, without the desk. Sessions at the desk end at once.</p>
        </ChangeDialog>
      )}
    </Panel>
  );
}
