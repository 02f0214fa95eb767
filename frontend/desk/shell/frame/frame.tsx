import type { LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import { NavLink } from "react-router-dom";
import { AccountMenu } from "./account-menu.tsx";

/** An entry of the navigation. */
export interface NavigationItem {
  path: string;
  label: string;
  icon: LucideIcon;
  /** Whether the menu of the account leads there, too, so that it is left out of the narrow bar of a phone. */
  isInMenu?: boolean;
}

interface FrameProps {
  /** The name of the site, above the navigation. */
  name: string;
  /** What this application is, beside the name. */
  application: string;
  items: readonly NavigationItem[];
  /** What the user has to know on every screen. */
  notice?: ReactNode;
  children: ReactNode;
}

/**
 * The frame of every screen: the navigation at the side, or on a phone at the bottom, the menu of the
 * account, and the screen.
 */
export function Frame({ name, application, items, notice, children }: FrameProps) {
  return (
    <div className="lg:grid lg:h-dvh lg:grid-cols-[14.5rem_minmax(0,1fr)]">
      <a
        href="#screen"
        className="fixed top-2 left-2 z-50 -translate-y-20 rounded-medium bg-ink px-4 py-2 text-small font-strong text-paper focus:translate-y-0"
      >
        Skip to the content
      </a>
      <header className="sticky top-0 z-30 flex items-center justify-between gap-3 border-b border-line bg-paper px-4 py-2 lg:static lg:min-h-0 lg:flex-col lg:items-stretch lg:justify-start lg:gap-5 lg:border-r lg:border-b-0 lg:bg-wall/50 lg:px-3 lg:py-4">
        <p className="min-w-0 truncate lg:px-2.5">
          <span className="font-strong">{name}</span>{" "}
          <span className="text-small text-ink-soft">{application}</span>
        </p>
        <nav
          aria-label={application}
          className="fixed inset-x-0 bottom-0 z-30 overflow-x-auto border-t border-line bg-paper pb-[env(safe-area-inset-bottom)] lg:static lg:flex-1 lg:overflow-y-auto lg:border-0 lg:bg-transparent lg:p-0"
        >
          <ul className="flex lg:flex-col lg:gap-0.5">
            {items.map((item) => (
              <li
                key={item.path}
                className={`min-w-12 flex-auto lg:flex-none ${item.isInMenu ? "max-lg:hidden" : ""}`}
              >
                <Item {...item} />
              </li>
            ))}
          </ul>
        </nav>
        <AccountMenu />
      </header>
      <main
        id="screen"
        tabIndex={-1}
        className="min-w-0 pb-20 lg:flex lg:h-dvh lg:flex-col lg:overflow-hidden lg:pb-0"
      >
        {notice}
        <div className="lg:min-h-0 lg:flex-1">{children}</div>
      </main>
    </div>
  );
}

function Item({ path, label, icon: Icon }: NavigationItem) {
  return (
    <NavLink
      to={path}
      className="flex min-h-14 flex-col items-center justify-center gap-1 px-0.5 text-note text-ink-soft -outline-offset-2 hover:text-ink aria-[current]:font-strong aria-[current]:text-ink lg:min-h-9 lg:flex-row lg:justify-start lg:gap-2.5 lg:rounded-medium lg:px-2.5 lg:text-small lg:hover:bg-wall lg:aria-[current]:bg-current-item lg:aria-[current]:shadow-low [&[aria-current]_svg]:text-accent"
    >
      <Icon aria-hidden="true" className="size-5 lg:size-4" />
      {label}
    </NavLink>
  );
}
