import { useSeller } from "../shared/seller.ts";
import { Slot } from "../shared/slots.tsx";

const LINK =
  "inline-block py-2 underline decoration-line decoration-1 underline-offset-[0.18em] hover:decoration-ink";

/** Below every screen: who sells, the contact, and the links to the seller's pages. Pages of the server, not of this script. */
export function SellerSection() {
  const seller = useSeller();
  if (!seller) return null;
  const { name, address, email, documents } = seller;
  return (
    <Slot name="sellers">
      <section
        aria-label="Seller"
        className="mx-auto max-w-wall px-5 pb-8 text-small text-ink-soft sm:px-8 lg:px-12"
      >
        <div className="flex flex-wrap items-baseline justify-between gap-x-10 gap-y-1 border-t border-line pt-5">
          <p className="py-2 wrap-anywhere">
            <span>{name}</span>
            <Slot name="seller_addresses">{address && <span>{`, ${address}`}</span>}</Slot>
          </p>
          <ul className="flex flex-wrap gap-x-6">
            <Slot name="seller_emails">
              {email && (
                <li>
                  <a href={`mailto:${email}`} className={`${LINK} wrap-anywhere`}>
                    {email}
                  </a>
                </li>
              )}
            </Slot>
            <Slot name="documents">
              {documents.map(({ path, title }) => (
                <li key={path}>
                  <a href={path} className={LINK}>
                    {title}
                  </a>
                </li>
              ))}
            </Slot>
          </ul>
        </div>
      </section>
    </Slot>
  );
}
