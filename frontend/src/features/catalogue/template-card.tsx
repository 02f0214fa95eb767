import type { CSSProperties } from "react";
import { Link } from "react-router-dom";
import { previews } from "../../previews/index.ts";
import { paths } from "../../shared/paths.ts";
import { usePrefetch } from "../../shared/prefetch.ts";
import type { Template } from "../../shared/templates/templates.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import { buttonClass } from "../../shared/ui/button.ts";
import { CheckList } from "../../shared/ui/check-list.tsx";
import { ProofPicture } from "../../shared/ui/proof-picture.tsx";
import { CARD_SIZES } from "./first-picture.ts";

/** How a card appears. */
export type Entrance = "in-turn" | "plain" | "none";

interface TemplateCardProps {
  template: Template;
  /** Its position in the sequence of appearing cards. */
  turn: number;
  entrance: Entrance;
}

const ENTRANCE: Record<Entrance, string> = {
  "in-turn": "animate-hang hang-in-turn",
  plain: "animate-appear",
  none: "",
};

/** A template in the catalogue. The link covers the whole card. */
export function TemplateCard({ template, turn, entrance }: TemplateCardProps) {
  const preview = previews[template.id];
  const prefetch = usePrefetch("template");
  return (
    <li
      className={`group relative flex flex-col ${ENTRANCE[entrance]}`}
      style={{ "--turn": turn } as CSSProperties}
    >
      <div className="proof">
        <div className="aspect-4/5 overflow-hidden bg-sheet shadow-low transition-shadow duration-300 group-hover:shadow-high">
          {preview && (
            <ProofPicture
              picture={preview.card}
              alt={preview.alt}
              sizes={CARD_SIZES}
              first={turn === 0}
              className="size-full object-cover object-top"
            />
          )}
        </div>
      </div>
      <div className="mt-4 flex items-center justify-between gap-3">
        <Badge category={template.category} />
        <p className="font-display text-lead">{template.price}</p>
      </div>
      <h2 className="mt-2 text-lead leading-snug">{template.title}</h2>
      <p className="mt-2 line-clamp-2 text-ink-soft">{template.description}</p>
      <p className="mt-4 mb-1.5 text-small font-strong">Features</p>
      <CheckList items={template.features} small />
      <div className="mt-auto pt-5">
        <Link
          to={paths.template(template.id)}
          aria-label={`View Template: ${template.title}`}
          {...prefetch}
          className={`${buttonClass("plain")} w-full group-hover:border-accent group-hover:bg-accent group-hover:text-on-accent after:absolute after:inset-0`}
        >
          View Template
        </Link>
      </div>
    </li>
  );
}
