import { Check, Download, Palette, Send, Shield, Smartphone } from "lucide-react";
import { Link } from "react-router-dom";
import { paths } from "../../shared/paths.ts";
import { usePrefetch } from "../../shared/prefetch.ts";
import type { Template } from "../../shared/templates/templates.ts";
import { buttonClass } from "../../shared/ui/button.ts";

const PURCHASE_NOTES = [
  { icon: Shield, text: "Secure payment via PayPal" },
  { icon: Download, text: "Instant download after purchase" },
  { icon: Check, text: "30-day money-back guarantee" },
];

const CUSTOM_NOTES = [
  { icon: Palette, text: "Custom design tailored to the brand" },
  { icon: Smartphone, text: "Personal consultation included" },
  { icon: Shield, text: "Satisfaction guaranteed" },
];

/**
 * The purchase area: a payment link if the template has one, otherwise a link to the submission form.
 * On narrow screens the button is sticky at the lower edge.
 */
export function Purchase({ template }: { template: Template }) {
  const custom = template.paymentLink === undefined;
  return (
    <section
      aria-label={custom ? "Request Custom Design" : "Purchase Template"}
      className="contents lg:sticky lg:top-24 lg:mt-8 lg:flex lg:flex-col lg:gap-5 lg:border lg:border-line lg:bg-sheet lg:p-6 lg:shadow-low"
    >
      {custom && (
        <p className="max-w-text">
          This template requires custom development. Submit your requirements for a personalized
          quote.
        </p>
      )}
      <div className="sticky bottom-0 z-10 order-last -mx-5 border-t border-line bg-paper px-5 pt-3 pb-[max(0.75rem,env(safe-area-inset-bottom))] sm:-mx-8 sm:px-8 lg:static lg:order-none lg:mx-0 lg:border-0 lg:bg-transparent lg:p-0">
        <PurchaseButton template={template} />
      </div>
      <ul className="space-y-2 text-small text-ink-soft">
        {(custom ? CUSTOM_NOTES : PURCHASE_NOTES).map(({ icon: Icon, text }) => (
          <li key={text} className="flex items-center gap-2.5">
            <Icon aria-hidden="true" strokeWidth={1.75} className="size-4.5 shrink-0" />
            {text}
          </li>
        ))}
      </ul>
    </section>
  );
}

function PurchaseButton({ template }: { template: Template }) {
  const prefetch = usePrefetch("submission");
  const look = `${buttonClass("accent")} w-full`;
  if (template.paymentLink === undefined) {
    return (
      <Link to={paths.submission} {...prefetch} className={look}>
        <Send aria-hidden="true" className="size-5" />
        {`Request Custom Design - ${template.price}`}
      </Link>
    );
  }
  return (
    <a href={template.paymentLink} target="_blank" rel="noopener" className={look}>
      <Download aria-hidden="true" className="size-5" />
      {`Purchase Template - ${template.price}`}
    </a>
  );
}
