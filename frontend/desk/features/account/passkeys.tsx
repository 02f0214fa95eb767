import { Fingerprint, KeyRound, Trash2 } from "lucide-react";
import { useState } from "react";
import { invalidate } from "../../shell/data/query-cache.ts";
import { useAction } from "../../shell/data/use-action.ts";
import { useQuery } from "../../shell/data/use-query.ts";
import { Time } from "../../shell/format/time.tsx";
import { type PasskeyOffer, readOffer } from "../../shell/session/passkey-offer.ts";
import { useSession } from "../../shell/session/session.tsx";
import { Button, IconButton } from "../../shell/ui/button.tsx";
import { ConfirmDialog } from "../../shell/ui/confirm-dialog.tsx";
import { FailureNotice } from "../../shell/ui/failure-notice.tsx";
import { Skeleton } from "../../shell/ui/skeleton.tsx";
import { useToast } from "../../shell/ui/toasts.tsx";
import { AddPasskeyDialog } from "./add-passkey-dialog.tsx";
import { deletePasskey, loadPasskeys, type Passkey } from "./api.ts";

const KEY = "passkeys";

/** The passkeys of the user: list, add, remove. */
export function Passkeys() {
  const { value, failure, reload } = useQuery(KEY, loadPasskeys);
  const [isAdding, setAdding] = useState(false);
  const [removed, setRemoved] = useState<Passkey>();
  const offer = readOffer(useSession());
  const isPossible = offer.state === "possible";
  return (
    <section className="rounded-large border border-line bg-sheet p-4 lg:p-5">
      <div className="mb-1 flex flex-wrap items-center justify-between gap-3">
        <h2 className="text-lead">Passkeys</h2>
        {isPossible && (
          <Button icon={Fingerprint} onClick={() => setAdding(true)}>
            Add a passkey
          </Button>
        )}
      </div>
      <p className="mb-4 max-w-text text-ink-soft">
        <OfferText offer={offer} />
      </p>
      {failure && <FailureNotice failure={failure} onRetry={reload} />}
      {!value && !failure && <Skeleton className="h-14 w-full" />}
      {value?.passkeys.length === 0 && (
        <p className="flex min-h-14 items-center gap-3 rounded-medium border border-dashed border-edge px-4 text-ink-soft">
          <KeyRound aria-hidden="true" className="size-4 shrink-0" />
          No passkey yet: you sign in with the password and the app.
        </p>
      )}
      {value && value.passkeys.length > 0 && (
        <ul className="divide-y divide-line rounded-medium border border-line">
          {value.passkeys.map((passkey) => (
            <PasskeyRow key={passkey.id} passkey={passkey} onRemove={() => setRemoved(passkey)} />
          ))}
        </ul>
      )}
      {isAdding && (
        <AddPasskeyDialog
          onClose={() => setAdding(false)}
          onAdded={() => {
            setAdding(false);
            invalidate(KEY);
          }}
        />
      )}
      {removed && <RemoveDialog passkey={removed} onClose={() => setRemoved(undefined)} />}
    </section>
  );
}

/** Says what a passkey does, or where and how one can be had. */
function OfferText({ offer }: { offer: PasskeyOffer }) {
  switch (offer.state) {
    case "possible":
      return "A passkey signs you in with the fingerprint sensor, the camera or the PIN of a device.";
    case "unsupported":
      return "This browser does not support passkeys here. Use another browser, at an address with https, to add one.";
    case "elsewhere":
      return (
        <>
          Passkeys do not work at this address. Open the desk at{" "}
          <a href={offer.url} className="underline underline-offset-4">
            {offer.url}
          </a>{" "}
          to add one.
        </>
      );
    case "none":
      return "Passkeys need an address with a host name. Set external_url in config.toml to the address of the shop, such as https://shop.example.com, and open the desk there.";
  }
}

function PasskeyRow({ passkey, onRemove }: { passkey: Passkey; onRemove: () => void }) {
  const { name, created_at, last_used_at } = passkey;
  return (
    <li className="flex min-h-14 items-center gap-3 px-4 py-2">
      <KeyRound aria-hidden="true" className="size-4 shrink-0 text-ink-soft" />
      <div className="min-w-0 flex-1">
        <p className="font-strong wrap-anywhere">{nameOf(passkey)}</p>
        <p className="text-small text-ink-soft">
          {created_at && (
            <>
              Added <Time at={created_at} />
            </>
          )}
          {last_used_at && (
            <>
              {" · "}used <Time at={last_used_at} />
            </>
          )}
        </p>
      </div>
      <IconButton icon={Trash2} label={`Remove the passkey ${name}`} onClick={onRemove} />
    </li>
  );
}

function RemoveDialog({ passkey, onClose }: { passkey: Passkey; onClose: () => void }) {
  const toast = useToast();
  const removal = useAction(
    () => deletePasskey(passkey.id),
    () => {
      onClose();
      invalidate(KEY);
      toast({ text: "The passkey is removed." });
    },
  );
  return (
    <ConfirmDialog
      title={`Remove the passkey “${nameOf(passkey)}”?`}
      confirm="Remove passkey"
      isPending={removal.isPending}
      failure={removal.failure}
      onConfirm={() => void removal.run()}
      onClose={onClose}
    >
      <p>
        It no longer signs you in. The device may still offer it: delete it there, too. Password and
        app keep working.
      </p>
    </ConfirmDialog>
  );
}

function nameOf({ name }: Passkey): string {
  return name || "Passkey";
}
