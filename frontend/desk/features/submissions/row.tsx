import { MailWarning, MailX, Reply } from "lucide-react";
import { Time } from "../../shell/format/time.tsx";
import { ListRow, RowLink } from "../../shell/list/row.tsx";
import { Badge } from "../../shell/ui/badge.tsx";
import type { Summary } from "./api.ts";
import { describeStatus, nameSenders } from "./model.ts";

interface SubmissionRowProps {
  submission: Summary;
  address: string;
  /** Whether the list contains several statuses. */
  showsStatus: boolean;
  isOpen: boolean;
  isChosen: boolean;
  onChoose: (id: string, isChosen: boolean) => void;
}

/** A submission in the list: who, what, when, and its states. */
export function SubmissionRow(props: SubmissionRowProps) {
  const { submission, address, showsStatus, isOpen, isChosen, onChoose } = props;
  const { id, senders, excerpt, created_at, status, template, replies, delivery } = submission;
  const name = nameSenders(senders);
  const isNew = status === "new";
  return (
    <ListRow isOpen={isOpen} className="flex">
      <label className="grid w-11 shrink-0 cursor-pointer place-items-center lg:w-12">
        <input
          type="checkbox"
          checked={isChosen}
          onChange={(event) => onChoose(id, event.target.checked)}
          className="size-4 accent-ink"
        />
        <span className="sr-only">Select the submission of {name}</span>
      </label>
      <RowLink
        id={id}
        address={address}
        isOpen={isOpen}
        className="grid min-h-18 min-w-0 flex-1 grid-cols-[minmax(0,1fr)_auto] content-center gap-x-3 gap-y-0.5 py-2.5 pr-4 lg:pr-5 @3xl:grid-cols-[17.5rem_minmax(0,1fr)_auto_5.5rem] @3xl:items-center @3xl:gap-x-5 @3xl:dense:min-h-8 @3xl:dense:py-0.5"
      >
        <span className={`flex min-w-0 items-center gap-2 ${isNew ? "font-strong" : ""}`}>
          {isNew && <span aria-hidden="true" className="size-2 shrink-0 rounded-full bg-accent" />}
          <span className="truncate">{name}</span>
        </span>
        <span className="order-last col-span-2 line-clamp-2 @3xl:dense:line-clamp-1 text-small wrap-anywhere text-ink-soft @3xl:order-none @3xl:col-span-1">
          {excerpt}
        </span>
        <span className="order-last col-span-2 flex flex-wrap items-center gap-1.5 @3xl:order-none @3xl:col-span-1 @3xl:justify-end">
          <States delivery={delivery} replies={replies} />
          {template && <Badge tone="neutral">{template.title || `Template ${template.id}`}</Badge>}
          {showsStatus && (
            <Badge tone={describeStatus(status).tone}>{describeStatus(status).label}</Badge>
          )}
        </span>
        <span className="text-right text-small text-ink-soft">
          <Time at={created_at} />
        </span>
      </RowLink>
    </ListRow>
  );
}

function States({ delivery, replies }: Pick<Summary, "delivery" | "replies">) {
  const icon = "size-4";
  return (
    <>
      {delivery === "failed" && (
        <span title="A message could not be delivered" className="text-danger">
          <MailX aria-hidden="true" className={icon} />
          <span className="sr-only">A message could not be delivered.</span>
        </span>
      )}
      {delivery === "waiting" && (
        <span title="A message is waiting" className="text-ink-soft">
          <MailWarning aria-hidden="true" className={icon} />
          <span className="sr-only">A message is waiting.</span>
        </span>
      )}
      {replies > 0 && (
        <span
          title={replies === 1 ? "1 reply" : `${replies} replies`}
          className="flex items-center gap-0.5 text-small text-ink-soft"
        >
          <Reply aria-hidden="true" className={icon} />
          {replies}
          <span className="sr-only"> {replies === 1 ? "reply" : "replies"}.</span>
        </span>
      )}
    </>
  );
}
