import { useLocation } from "react-router-dom";
import { useQuery } from "../data/use-query.ts";
import { RecoveryCodeMaker } from "./recovery-code-maker.tsx";
import { loadRecoveryCodes } from "./recovery-codes.ts";

/**
 * Asks an owner who has kept no recovery codes to make some: a setup that was interrupted has shown none.
 * The screen of the account says so itself.
 */
export function RecoveryNotice() {
  const { value } = useQuery("recovery-codes", loadRecoveryCodes);
  const { pathname } = useLocation();
  if (!value || pathname === "/account" || (value.left > 0 && !value.are_unconfirmed)) return null;
  return (
    <section
      aria-label="Notice about recovery codes"
      className="border-b border-line bg-wall px-4 py-3 text-small lg:max-h-[70dvh] lg:shrink-0 lg:overflow-y-auto lg:px-5"
    >
      <RecoveryCodeMaker>
        <p>
          <strong className="font-strong">
            {value.left === 0
              ? "You have no recovery codes."
              : "You have not confirmed that you kept your recovery codes."}
          </strong>{" "}
          Without one, a lost phone locks you out. New codes end the earlier ones.
        </p>
      </RecoveryCodeMaker>
    </section>
  );
}
