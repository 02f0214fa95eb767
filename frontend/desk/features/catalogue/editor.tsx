import { type FormEvent, useRef, useState } from "react";
import { useDraftWarning } from "../../shared/draft-warning.ts";
import { useAction } from "../../shell/data/use-action.ts";
import { Button } from "../../shell/ui/button.tsx";
import { FailureNotice } from "../../shell/ui/failure-notice.tsx";
import { useToast } from "../../shell/ui/toasts.tsx";
import { useWait } from "../../shell/ui/use-wait.ts";
import { changeTemplate, restoreTemplate, type TemplateDetail, type Values } from "./api.ts";
import {
  changesOf,
  type Draft,
  draftOf,
  hasDrafts,
  isDisputed,
  keepDraft,
  shownEntry,
  withEntry,
} from "./drafts.ts";
import { TemplateFields } from "./fields.tsx";
import { checkTogether, checkValue, type Entry, KEYS, type Key, toEntry } from "./model.ts";
import { keepUp, showStored } from "./use-catalogue.ts";

type Problems = Partial<Record<Key, string>>;

/** Changes the values of a template. What is typed stays while others change it, too. */
export function TemplateEditor({ template }: { template: TemplateDetail }) {
  const { id, revision, values, changed_by: author, product, files } = template;
  const [draft, setDraft] = useState(() => draftOf(id));
  const [problems, setProblems] = useState<Problems>({});
  const form = useRef<HTMLFormElement>(null);
  const toast = useToast();
  useDraftWarning(hasDrafts);
  const changes = changesOf(draft, values);
  const isChanged = Object.keys(changes).length > 0;

  function keep(next: Draft): void {
    setDraft(next);
    keepDraft(id, next);
  }

  const undoing = useAction(
    (seen: number) => keepUp(restoreTemplate(id, seen, seen - 1)),
    (stored) => {
      showStored(stored);
      toast({ text: "The change is undone. The shop shows it now." });
    },
  );
  const saving = useAction(
    (changed: Partial<Values>) => keepUp(changeTemplate(id, revision, changed)),
    (stored) => {
      keep({});
      showStored(stored);
      const undo = () => void undoing.run(stored.revision);
      toast({ text: "Saved. The shop shows it now.", undo });
    },
  );
  const wait = useWait(saving.failure?.retryAt);

  function onSubmit(event: FormEvent): void {
    event.preventDefault();
    const found: Problems = checkTogether({ ...values, ...changes });
    for (const key of KEYS) {
      const problem = key in changes ? checkValue(key, changes[key] ?? "") : undefined;
      if (problem) found[key] = problem;
    }
    setProblems(found);
    const first = KEYS.find((key) => found[key]);
    if (first) form.current?.querySelector<HTMLElement>(`[name=${first}]`)?.focus();
    else if (isChanged && wait === 0) void saving.run(changes);
  }

  const failure = saving.failure ?? undoing.failure;
  return (
    <form ref={form} noValidate onSubmit={onSubmit} className="max-w-text space-y-5">
      <TemplateFields
        present={values}
        author={author}
        product={product}
        files={files}
        entryOf={(key) => shownEntry(draft, key, values)}
        problemOf={(key) => problems[key]}
        isDisputed={(key) => isDisputed(draft, key, values)}
        // An upload can end after other fields were changed.
        onWrite={(key: Key, entry: Entry) => keep(withEntry(draftOf(id), key, entry, values))}
        onTake={(key) =>
          keep({ ...draftOf(id), [key]: { entry: toEntry(values[key]), before: values[key] } })
        }
      />
      {failure && <FailureNotice failure={failure} />}
      <div className="flex flex-wrap items-center gap-2">
        <Button
          type="submit"
          kind="main"
          isPending={saving.isPending}
          isDisabled={!isChanged || wait > 0}
        >
          Save changes
        </Button>
        {isChanged && (
          <Button
            kind="quiet"
            onClick={() => {
              keep({});
              setProblems({});
              saving.reset();
            }}
          >
            Discard
          </Button>
        )}
        <p role="status" className="text-small text-ink-soft">
          {isChanged ? "Not saved yet." : ""}
        </p>
      </div>
    </form>
  );
}
