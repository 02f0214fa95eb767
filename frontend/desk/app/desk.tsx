import { useEffect, useState } from "react";
import { SetupPage } from "../features/access/setup-page.tsx";
import { SignInPage } from "../features/access/sign-in-page.tsx";
import { useReloadOnReturn } from "../shell/data/use-query.ts";
import { ShortcutProvider } from "../shell/keyboard/shortcuts.tsx";
import { SessionProvider, useSessionControl } from "../shell/session/session.tsx";
import { FailureNotice } from "../shell/ui/failure-notice.tsx";
import { ToastProvider } from "../shell/ui/toasts.tsx";
import { Screens } from "./screens.tsx";
import { takeSetupToken } from "./setup-token.ts";
import { StartSkeleton } from "./start-skeleton.tsx";

/** The application. The sign-in appears at every address, which stays, so that it leads back there. */
export function Desk({ setupToken }: { setupToken: string | undefined }) {
  return (
    <SessionProvider>
      <ToastProvider>
        <ShortcutProvider>
          <Entrance setupToken={setupToken} />
        </ShortcutProvider>
      </ToastProvider>
    </SessionProvider>
  );
}

function Entrance({ setupToken }: { setupToken: string | undefined }) {
  const { current, reload, enter } = useSessionControl();
  const [token, setToken] = useState(setupToken);
  // The link can be opened in this tab, which then only changes the fragment.
  useEffect(() => {
    const onFragment = () => setToken((before) => takeSetupToken() ?? before);
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
      if (token === undefined) return <SignInPage {...current} onDone={enter} />;
      return (
        <SetupPage
          token={token}
          onDone={(session) => {
            // The link is used up: after a sign-out, the sign-in appears.
            setToken(undefined);
            enter(session);
          }}
          onLeave={() => setToken(undefined)}
        />
      );
    case "signed-in":
      return <Screens />;
  }
}
