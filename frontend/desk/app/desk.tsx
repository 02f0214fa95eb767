import { useEffect, useState } from "react";
import { SetupPage } from "../features/access/setup-page.tsx";
import { SignInPage } from "../features/access/sign-in-page.tsx";
import { useReloadOnReturn } from "../shell/data/use-query.ts";
import { ShortcutProvider } from "../shell/keyboard/shortcuts.tsx";
import { SessionProvider, useSessionControl } from "../shell/session/session.tsx";
import { FailureNotice } from "../shell/ui/failure-notice.tsx";
import { ToastProvider } from "../shell/ui/toasts.tsx";
import { type AccessLink, takeAccessLink } from "./access-link.ts";
import { Screens } from "./screens.tsx";
import { StartSkeleton } from "./start-skeleton.tsx";

/** The application. The sign-in appears at every address, which stays, so that it leads back there. */
export function Desk({ link }: { link: AccessLink | undefined }) {
  return (
    <SessionProvider>
      <ToastProvider>
        <ShortcutProvider>
          <Entrance opened={link} />
        </ShortcutProvider>
      </ToastProvider>
    </SessionProvider>
  );
}

function Entrance({ opened }: { opened: AccessLink | undefined }) {
  const { current, reload, enter } = useSessionControl();
  const [link, setLink] = useState(opened);
  // The link can be opened in this tab, which then only changes the fragment.
  useEffect(() => {
    const onFragment = () => setLink((before) => takeAccessLink() ?? before);
    window.addEventListener("hashchange", onFragment);
    return () => window.removeEventListener("hashchange", onFragment);
  }, []);
  useReloadOnReturn();
  switch (current.state) {
    case "loading":
      return <StartSkeleton />;
    case "failed":
      return (
        <main className="mx-auto grid min-h-dvh max-w-120 content-center p-5">
          <h1 className="mb-4 text-title">Desk</h1>
          <FailureNotice failure={current.failure} onRetry={reload} />
        </main>
      );
    case "signed-out":
      if (!link) return <SignInPage {...current} onDone={enter} />;
      return (
        <SetupPage
          key={link.token}
          link={link}
          passwordRule={current.passwordRule}
          onDone={(session) => {
            // The link is used up: after a sign-out, the sign-in appears.
            setLink(undefined);
            enter(session);
          }}
          onLeave={() => setLink(undefined)}
        />
      );
    case "signed-in":
      return <Screens />;
  }
}
