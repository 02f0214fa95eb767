import { type FormEvent, useRef, useState } from "react";
import { useNavigate } from "react-router-dom";
import { useDraftWarning } from "../../shared/draft-warning.ts";
import { useAction } from "../../shell/data/use-action.ts";
import { DetailHeader } from "../../shell/frame/detail-header.tsx";
import { Button } from "../../shell/ui/button.tsx";
import { FailureNotice } from "../../shell/ui/failure-notice.tsx";
import { useToast } from "../../shell/ui/toasts.tsx";
import { useWait } from "../../shell/ui/use-wait.ts";
import { addTemplate } from "./api.ts";
import {
  changesOf,
  type Draft,
  draftOf,
  hasDrafts,
  keepDraft,
  shownEntry,
  withEntry,
} from "./drafts.ts";
import { TemplateFields } from "./fields.tsx";
import { checkTogether, checkValue, EMPTY_VALUES, type Entry, KEYS, type Key } from "./model.ts";
import { reloadCatalogue } from "./use-catalogue.ts";

/** The number under which the draft is kept: templates have numbers from 1. */
const DRAFT = 0;

/** Adds a template to the catalogue. */
export function NewTemplate() {
  const [draft, setDraft] = useState(() => draftOf(DRAFT));
  const [problems, setProblems] = useState<Partial<Record<Key, string>>>({});
  const form = useRef<HTMLFormElement>(null);
  const navigate = useNavigate();
  const toast = useToast();
  useDraftWarning(hasDrafts);

  function keep(next: Draft): void {
    setDraft(next);
    keepDraft(DRAFT, next);
  }

  const adding = useAction(addTemplate, (stored) => {
    keep({});
    reloadCatalogue();
    toast({
      text: stored.values.visible
        ? "Added. The shop shows it now."
        : "Added. The shop shows it when you make it visible.",
    });
    void navigate(`/catalogue/${stored.id}`);
  });
  const wait = useWait(adding.failure?.retryAt);

  function onSubmit(event: FormEvent): void {
    event.preventDefault();
    const values = { ...EMPTY_VALUES, ...changesOf(draft, EMPTY_VALUES) };
    const found = checkTogether(values);
    for (const key of KEYS) {
      const problem = checkValue(key, values[key]);
      if (problem) found[key] = problem;
    }
    setProblems(found);
    const first = KEYS.find((key) => found[key]);
    if (first) form.current?.querySelector<HTMLElement>(`[name=${first}]`)?.focus();
    else if (wait === 0) void adding.run(changesOf(draft, EMPTY_VALUES));
  }

  return (
    <article className="pb-8">
      <DetailHeader title="New template" back="/catalogue" list="Catalogue" />
      <form
        ref={form}
        noValidate
        onSubmit={onSubmit}
        className="max-w-text space-y-5 px-4 pt-5 lg:px-7"
      >
        <TemplateFields
          present={EMPTY_VALUES}
          author={undefined}
          product={undefined}
          files={[]}
          entryOf={(key) => shownEntry(draft, key, EMPTY_VALUES)}
          problemOf={(key) => problems[key]}
          isDisputed={() => false}
          // An upload can end after other fields were changed.
          onWrite={(key: Key, entry: Entry) =>
            keep(withEntry(draftOf(DRAFT), key, entry, EMPTY_VALUES))
          }
          onTake={() => undefined}
        />
        {adding.failure && <FailureNotice failure={adding.failure} />}
        <Button type="submit" kind="main" isPending={adding.isPending} isDisabled={wait > 0}>
          Add template
        </Button>
      </form>
    </article>
  );
}
