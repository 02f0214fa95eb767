import { Check, Download, Palette, Send, Shield, Smartphone } from "lucide-react";
import { Link } from "react-router-dom";
import { paths } from "../../shared/paths.ts";
import { usePrefetch } from "../../shared/prefetch.ts";
import type { Template } from "../../shared/templates/catalogue.ts";
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
 * On narrow screens its button is sticky at the lower edge, at most 72 pixels high.
 */
export function Purchase({ template }: { template: Template }) {
  const custom = template.link === undefined;
  return (
    <section
      aria-label={custom ? "Request Custom Design" : "Purchase Template"}
      className="contents lg:block"
    >
      {custom && (
        <p className="max-w-text text-small lg:mb-4">
          This template requires custom development. Submit your requirements for a personalized
          quote.
        </p>
      )}
      <div className="bottom-0 z-10 order-last -mx-5 border-t border-line bg-paper px-5 pt-2 pb-[max(0.5rem,env(safe-area-inset-bottom))] tall:sticky sm:-mx-8 sm:px-8 lg:static! lg:order-none lg:mx-0 lg:border-0 lg:bg-transparent lg:p-0">
        <PurchaseButton template={template} />
      </div>
      <ul className="space-y-1 text-small text-ink-soft lg:mt-4">
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
  // On one line also where the screen is 320 pixels wide.
  const look = `${buttonClass("accent")} w-full max-[23rem]:px-2 max-[23rem]:text-small`;
  if (template.link === undefined) {
    return (
      <Link to={paths.request(template.id)} {...prefetch} className={look}>
        <Send aria-hidden="true" className="size-5 shrink-0" />
        {`Request Custom Design - ${template.price}`}
      </Link>
    );
  }
  return (
    <a href={template.link} target="_blank" rel="noopener" className={look}>
      <Download aria-hidden="true" className="size-5 shrink-0" />
      {`Purchase Template - ${template.price}`}
    </a>
  );
}
