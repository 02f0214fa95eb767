import { MonitorSmartphone } from "lucide-react";
import { invalidate } from "../../shell/data/query-cache.ts";
import { useAction } from "../../shell/data/use-action.ts";
import { Time } from "../../shell/format/time.tsx";
import { Badge } from "../../shell/ui/badge.tsx";
import { Button } from "../../shell/ui/button.tsx";
import { FailureNotice } from "../../shell/ui/failure-notice.tsx";
import { useToast } from "../../shell/ui/toasts.tsx";
import { type DeskSession, endOtherSessions } from "./api.ts";
import { describeBrowser } from "./model.ts";
import { Panel } from "./panel.tsx";

/** The sessions of the desk: this one and others. */
export function SessionsPanel({ sessions }: { sessions: readonly DeskSession[] }) {
  const toast = useToast();
  const ending = useAction(endOtherSessions, () => {
    invalidate("account");
    toast({ text: "The other sessions have ended." });
  });
  const hasOthers = sessions.some((session) => !session.is_current);
  return (
    <Panel
      title="Sessions"
      action={
        hasOthers && (
          <Button isPending={ending.isPending} onClick={() => void ending.run()}>
            End the others
          </Button>
        )
      }
    >
      {ending.failure && <FailureNotice failure={ending.failure} />}
      <ul className="divide-y divide-line rounded-medium border border-line">
        {sessions.map((session) => (
          <li key={session.id} className="flex min-h-14 items-center gap-3 px-4 py-2">
            <MonitorSmartphone aria-hidden="true" className="size-4 shrink-0 text-ink-soft" />
            <div className="min-w-0 flex-1">
              <p className="font-strong wrap-anywhere">
                {describeBrowser(session.user_agent ?? "")}
              </p>
              <p className="text-small text-ink-soft">
                {session.method === "passkey" ? "By passkey" : "By password and code"} · used{" "}
                <Time at={session.last_used_at} />
              </p>
            </div>
            {session.is_current && <Badge tone="good">This one</Badge>}
          </li>
        ))}
      </ul>
    </Panel>
  );
}
