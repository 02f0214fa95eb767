import { type ReactNode, useId, useRef } from "react";
import type { Result } from "../../../src/shared/result.ts";
import type { Failure } from "../../shell/data/failure.ts";
import { useAction } from "../../shell/data/use-action.ts";
import { Button } from "../../shell/ui/button.tsx";
import { FailureNotice } from "../../shell/ui/failure-notice.tsx";
import { type UploadedFile, uploadPicture, uploadProduct } from "./api.ts";
import { formatSize } from "./model.ts";

/** The files that were uploaded on this page, by their ids: the server names them once they are saved. */
const uploads = new Map<string, { name: string; size: number }>();

const MIB = 1024 * 1024;

interface UploadFieldProps {
  label: string;
  hint: ReactNode;
  /** What is chosen now. */
  children: ReactNode;
  accept: string;
  /** The largest file that the server takes, in bytes. */
  limit: number;
  onUpload: (file: File) => Promise<Result<{ file: string; size: number }, Failure>>;
  onStored: (id: string) => void;
  /** Returns to what the files have; absent if that is the case. */
  onRemove?: (() => void) | undefined;
}

function UploadField(props: UploadFieldProps) {
  const { label, hint, children, accept, limit, onUpload, onStored, onRemove } = props;
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const uploading = useAction(async (file: File) => {
    const outcome = file.size > limit ? refuseLarge(limit) : await onUpload(file);
    if (outcome.ok) uploads.set(outcome.value.file, { name: file.name, size: file.size });
    return outcome;
  });
  async function choose(file: File | undefined): Promise<void> {
    if (!file) return;
    const stored = await uploading.run(file);
    if (input.current) input.current.value = "";
    if (stored) onStored(stored.file);
  }
  return (
    <fieldset className="min-w-0 space-y-2">
      <legend className="mb-1.5 text-small font-strong">{label}</legend>
      <p role="status">{uploading.isPending ? "Uploading…" : children}</p>
      <input
        ref={input}
        id={id}
        type="file"
        accept={accept}
        aria-label={`Choose: ${label}`}
        aria-describedby={`${id}-hint`}
        aria-disabled={uploading.isPending || undefined}
        // Not disabled: that would take the focus away.
        onClick={(event) => uploading.isPending && event.preventDefault()}
        onChange={(event) => void choose(event.target.files?.[0])}
        className="block w-full min-w-0 text-small file:mr-3 file:min-h-10 file:cursor-pointer file:rounded-medium file:border file:border-solid file:border-edge file:bg-sheet file:px-3.5 file:font-strong file:text-ink lg:file:min-h-9"
      />
      <p id={`${id}-hint`} className="text-small text-ink-soft">
        {hint}
      </p>
      {uploading.failure && <FailureNotice failure={uploading.failure} />}
      {onRemove && (
        <Button onClick={onRemove}>
          Remove <span className="sr-only">{label}</span>
        </Button>
      )}
    </fieldset>
  );
}

/** A browser that sends more than the server reads may not see its answer. */
function refuseLarge(limit: number): Result<never, Failure> {
  const message = `The file is larger than ${limit / MIB} MiB.`;
  const error: Failure = { kind: "refused", code: "file_too_large", message };
  return { ok: false, error: { ...error, hint: "Choose a smaller one." } };
}

interface FileFieldProps {
  /** The id of the uploaded file; empty for none. */
  value: string;
  onChange: (id: string) => void;
}

/** The choice of a picture. */
export function PictureField({ value, onChange }: FileFieldProps) {
  const name = uploads.get(value)?.name;
  return (
    <UploadField
      label="Picture"
      hint="PNG, JPEG or WebP, at most 10 MiB. The shop shows it at most 1600 pixels wide."
      accept="image/png,image/jpeg,image/webp"
      limit={10 * MIB}
      onUpload={uploadPicture}
      onStored={onChange}
      onRemove={value === "" ? undefined : () => onChange("")}
    >
      {value === "" ? "The shipped preview, if there is one." : (name ?? "An uploaded picture.")}
    </UploadField>
  );
}

interface ProductFieldProps extends FileFieldProps {
  /** What buyers get now. */
  product: { name: string; size: number; is_uploaded: boolean } | null | undefined;
  /** The files that the history names. */
  files: readonly UploadedFile[];
}

/** The choice of the file that buyers get. */
export function ProductField({ value, onChange, product, files }: ProductFieldProps) {
  const chosen = uploads.get(value) ?? files.find(({ file }) => file === value);
  const shown = value === "" ? (product?.is_uploaded ? undefined : product) : chosen;
  return (
    <UploadField
      label="File for buyers"
      hint="A ZIP file of at most 200 MiB. Earlier buyers get the new one, too."
      accept=".zip,application/zip"
      limit={200 * MIB}
      onUpload={uploadProduct}
      onStored={onChange}
      onRemove={value === "" ? undefined : () => onChange("")}
    >
      {shown
        ? `${shown.name}, ${formatSize(shown.size)}`
        : "The one of the products folder, if there is one."}
    </UploadField>
  );
}
