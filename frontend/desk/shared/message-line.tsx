import { Mail, RotateCw } from "lucide-react";
import type { Result } from "../../src/shared/result.ts";
import type { Failure } from "../shell/data/failure.ts";
import { useAction } from "../shell/data/use-action.ts";
import { Time } from "../shell/format/time.tsx";
import { Badge } from "../shell/ui/badge.tsx";
import { Button } from "../shell/ui/button.tsx";
import { FailureNotice } from "../shell/ui/failure-notice.tsx";
import { describeState, type Message, nameKind } from "./message.ts";

interface MessageLineProps {
  message: Message;
  /** Sends a failed message again; without it, this is not offered. */
  resend?: () => Promise<Result<unknown, Failure>>;
  onResent?: () => void;
}

/** An e-mail with the state of its delivery. */
export function MessageLine({ message, resend, onResent }: MessageLineProps) {
  const { kind, to, subject, state, error, attempts, created_at, sent_at } = message;
  const again = useAction(
    async () => (await resend?.()) ?? { ok: true, value: undefined },
    onResent,
  );
  const { label, tone, explanation } = describeState(state);
  return (
    <div className="flex gap-3">
      <Mail aria-hidden="true" className="mt-1 size-4 shrink-0 text-ink-soft" />
      <div className="min-w-0 flex-1">
        <div className="flex flex-wrap items-center gap-x-2 gap-y-0.5">
          <span className="font-strong">{nameKind(kind)}</span>
          <span title={explanation}>
            <Badge tone={tone}>{label}</Badge>
          </span>
          <span className="text-small text-ink-soft">
            <Time at={sent_at ?? created_at} />
          </span>
        </div>
        <p className="text-small wrap-anywhere text-ink-soft">
          To {to}
          {subject && ` · ${subject}`}
        </p>
        {state === "failed" && (
          <p className="text-small wrap-anywhere text-danger">
            {error || "The mail server refused it."} {attempts > 1 && `Tried ${attempts} times.`}
          </p>
        )}
        {resend && state === "failed" && (
          <Button
            icon={RotateCw}
            isPending={again.isPending}
            onClick={() => void again.run()}
            className="mt-2"
          >
            Send again
          </Button>
        )}
        {again.failure && (
          <div className="mt-2">
            <FailureNotice failure={again.failure} />
          </div>
        )}
      </div>
    </div>
  );
}
