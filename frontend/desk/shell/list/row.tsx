import type { ReactNode } from "react";
import { Link } from "react-router-dom";

interface ListRowProps {
  /** Whether what the row stands for is open beside the list. */
  isOpen: boolean;
  className?: string;
  children: ReactNode;
}

/** A row of a list, marked while what it stands for is open. */
export function ListRow({ isOpen, className = "", children }: ListRowProps) {
  const background = isOpen ? "bg-sheet" : "hover:bg-sheet/70";
  return (
    <li className={`relative border-b border-line ${background} ${className}`}>
      {isOpen && <span aria-hidden="true" className="absolute inset-y-0 left-0 w-0.5 bg-accent" />}
      {children}
    </li>
  );
}

interface RowLinkProps extends ListRowProps {
  id: string | number;
  address: string;
}

/** The link of a row, which the keys of lists find by its id. */
export function RowLink({ id, address, isOpen, className = "", children }: RowLinkProps) {
  return (
    <Link
      to={address}
      data-row={id}
      aria-current={isOpen ? "true" : undefined}
      className={`-outline-offset-2 ${className}`}
    >
      {children}
    </Link>
  );
}
