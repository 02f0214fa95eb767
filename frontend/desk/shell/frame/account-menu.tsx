import { ChevronsUpDown, CircleUserRound } from "lucide-react";
import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import { Link, useLocation } from "react-router-dom";
import { useShortcutHelp } from "../keyboard/shortcuts.tsx";
import { useSession, useSessionControl } from "../session/session.tsx";
import { useToast } from "../ui/toasts.tsx";

const ENTRY =
  "flex min-h-10 w-full items-center rounded-small px-3 text-left text-small hover:bg-wall lg:min-h-9";

/** The menu of the signed-in user: account, shortcuts, end of the session. */
export function AccountMenu() {
  const { user } = useSession();
  const { signOut } = useSessionControl();
  const [isOpen, setOpen] = useState(false);
  const { pathname } = useLocation();
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const openHelp = useShortcutHelp();
  const toast = useToast();
  const menu = useId();

  // biome-ignore lint/correctness/useExhaustiveDependencies: a navigation closes the menu
  useEffect(() => setOpen(false), [pathname]);

  async function endSession(): Promise<void> {
    if (await signOut()) toast({ text: "You are still signed in: the server did not answer." });
  }

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: closes the menu, which has its own controls
    <div
      ref={root}
      className="relative shrink-0"
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !isOpen) return;
        event.stopPropagation();
        setOpen(false);
        button.current?.focus();
      }}
      onBlur={(event) => {
        if (!root.current?.contains(event.relatedTarget)) setOpen(false);
      }}
    >
      <button
        ref={button}
        type="button"
        aria-expanded={isOpen}
        aria-controls={isOpen ? menu : undefined}
        onClick={() => setOpen(!isOpen)}
        className="flex min-h-10 w-full items-center gap-2.5 rounded-medium px-2.5 text-small text-ink-soft hover:bg-wall hover:text-ink"
      >
        <CircleUserRound aria-hidden="true" className="size-5 shrink-0 lg:size-4" />
        <span className="sr-only">Account of </span>
        <span className="min-w-0 flex-1 truncate text-left max-lg:sr-only">{user.email}</span>
        <ChevronsUpDown aria-hidden="true" className="size-4 shrink-0 max-lg:hidden" />
      </button>
      {isOpen && (
        <ul
          id={menu}
          className="absolute top-full right-0 z-40 mt-1 w-60 animate-rise rounded-large border border-line bg-sheet p-1 shadow-high lg:top-auto lg:bottom-full lg:left-0 lg:mb-1"
        >
          <Entry>
            <span className="block truncate px-3 py-2 text-note text-ink-soft">{user.email}</span>
          </Entry>
          <Entry>
            <Link to="/account" className={ENTRY}>
              Account and passkeys
            </Link>
          </Entry>
          <Entry>
            <a href="/" target="_blank" rel="noreferrer" className={ENTRY}>
              View the shop
            </a>
          </Entry>
          <Entry>
            <button
              type="button"
              className={ENTRY}
              onClick={() => {
                setOpen(false);
                button.current?.focus();
                openHelp();
              }}
            >
              Keyboard shortcuts
            </button>
          </Entry>
          <Entry>
            <button type="button" className={ENTRY} onClick={() => void endSession()}>
              Sign out
            </button>
          </Entry>
        </ul>
      )}
    </div>
  );
}

function Entry({ children }: { children: ReactNode }) {
  return <li>{children}</li>;
}
