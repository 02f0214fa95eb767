import { Download, Palette, Smartphone, Zap } from "lucide-react";
import { Link } from "react-router-dom";
import { paths } from "../../shared/paths.ts";
import { usePrefetch } from "../../shared/prefetch.ts";
import { ColourBar } from "./colour-bar.tsx";

const SELLING_POINTS = [
  { icon: Palette, text: "Professional design" },
  { icon: Smartphone, text: "Mobile responsive" },
  { icon: Zap, text: "Easy customization" },
  { icon: Download, text: "PayPal integration ready" },
];

/** The footer: the link for sellers, the selling points of all templates, and the way of buyers back to their downloads. */
export function CatalogueFooter() {
  const prefetch = usePrefetch("submission");
  return (
    <footer className="mt-20 border-t border-line pt-10 pb-12 sm:mt-28 sm:pt-14 sm:pb-16">
      <div className="grid gap-10 lg:grid-cols-[3fr_2fr] lg:gap-16">
        <p className="max-w-[26em] font-display text-title sm:text-figure">
          Ready to add your PayPal payment links?{" "}
          <Link
            to={paths.submission}
            {...prefetch}
            className="whitespace-nowrap underline decoration-accent decoration-2 underline-offset-[0.18em] hover:decoration-4"
          >
            Contact us
          </Link>{" "}
          to integrate your payment system.
        </p>
        <ul className="grid content-start gap-x-8 gap-y-4 sm:grid-cols-2">
          {SELLING_POINTS.map(({ icon: Icon, text }) => (
            <li key={text} className="flex items-center gap-3">
              <Icon
                aria-hidden="true"
                strokeWidth={1.75}
                className="size-5 shrink-0 text-ink-soft"
              />
              {text}
            </li>
          ))}
        </ul>
      </div>
      <p className="mt-10 text-small text-ink-soft print:hidden">
        Bought a template?{" "}
        <a
          href={paths.orders}
          className="inline-block py-2 underline decoration-line decoration-1 underline-offset-[0.18em] hover:decoration-ink"
        >
          Your downloads
        </a>
      </p>
      <ColourBar />
    </footer>
  );
}
