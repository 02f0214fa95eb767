import { memo, useState } from "react";
import { Link } from "react-router-dom";
import { paths } from "../../shared/paths.ts";
import { usePrefetch } from "../../shared/prefetch.ts";
import type { Template } from "../../shared/templates/catalogue.ts";
import { usePreview } from "../../shared/templates/use-preview.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import { buttonClass } from "../../shared/ui/button.ts";
import { CheckList } from "../../shared/ui/check-list.tsx";
import { PicturePlaceholder } from "../../shared/ui/picture-placeholder.tsx";
import { ProofPicture } from "../../shared/ui/proof-picture.tsx";

/** How a card appears. */
export type Entrance = "in-turn" | "plain" | "none";

interface TemplateCardProps {
  template: Template;
  /** Whether it is the first of the list, whose picture is loaded at once. */
  isFirst: boolean;
  entrance: Entrance;
}

const ENTRANCE: Record<Entrance, string> = {
  "in-turn": "animate-hang hang-in-turn",
  plain: "animate-appear",
  none: "",
};

/** The displayed widths of the picture, in the format of the `sizes` attribute; an only card is the widest. */
const SIZES = "(min-width: 40rem) 26rem, calc(100vw - 5rem)";

/**
 * A template in the catalogue. The link covers the whole card. An only card shows its text beside the
 * picture. It is not rendered again while its values stay, because a list has many.
 */
export const TemplateCard = memo(function TemplateCard(props: TemplateCardProps) {
  const { template, isFirst, entrance } = props;
  const prefetch = usePrefetch("template");
  // A card that stays when the filter changes does not appear again.
  const [initial] = useState(entrance);
  const appearance = entrance === initial ? ENTRANCE[entrance] : "";
  return (
    <li
      className={`group relative flex flex-col break-inside-avoid sm:only:col-span-full sm:only:grid sm:only:max-w-[60rem] sm:only:grid-cols-[minmax(0,26rem)_minmax(0,1fr)] sm:only:gap-x-10 lg:only:gap-x-16 ${appearance}`}
    >
      <div className="proof">
        <div className="aspect-4/5 max-sm:aspect-square overflow-hidden bg-sheet shadow-low transition-shadow duration-300 group-hover:shadow-high">
          <CardPicture template={template} isFirst={isFirst} />
        </div>
      </div>
      <div className="mt-3 flex flex-1 flex-col sm:mt-4 sm:group-only:my-auto sm:group-only:flex-none">
        <div className="flex flex-wrap items-center justify-between gap-x-3 gap-y-1">
          <Badge category={template.category} />
          <p className="font-display text-lead">{template.price}</p>
        </div>
        <h2 className="mt-1 text-lead leading-snug sm:mt-2 wrap-anywhere sm:group-only:text-figure">
          {template.title}
        </h2>
        <p className="mt-1 text-ink-soft text-pretty sm:mt-2 sm:min-h-[2lh] sm:group-only:min-h-0">
          {template.summary}
        </p>
        <p className="mt-3 mb-1 text-small font-strong sm:mt-4 sm:mb-1.5">Features</p>
        <CheckList items={template.features} small />
        <div className="mt-auto pt-4 sm:pt-5 print:hidden">
          <Link
            to={paths.template(template.id)}
            aria-label={`View Template: ${template.title}`}
            {...prefetch}
            className={`${buttonClass("plain")} w-full group-hover:border-accent group-hover:bg-accent group-hover:text-on-accent after:absolute after:inset-0`}
          >
            View Template
          </Link>
        </div>
      </div>
    </li>
  );
});

function CardPicture({ template, isFirst }: { template: Template; isFirst: boolean }) {
  const preview = usePreview(template);
  const label = preview?.alt ?? template.title;
  const placeholder = <PicturePlaceholder label={label} category={template.category} />;
  if (!preview) return placeholder;
  return (
    <ProofPicture
      picture={preview.card}
      alt={preview.alt}
      sizes={SIZES}
      first={isFirst}
      className="size-full object-cover object-top"
      fallback={placeholder}
    />
  );
}
