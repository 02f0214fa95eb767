import { MapPinOff } from "lucide-react";
import { Link } from "react-router-dom";
import { buttonClass } from "../ui/button.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { PageHeader } from "./page-header.tsx";

/** The screen of an unknown address. */
export function NotFoundPage() {
  return (
    <>
      <PageHeader title="Not found" />
      <EmptyState icon={MapPinOff} title="There is no screen at this address">
        <p>The link is incomplete or belongs to another version.</p>
        <Link to="/" className={buttonClass("plain")}>
          Go to the first screen
        </Link>
      </EmptyState>
    </>
  );
}
