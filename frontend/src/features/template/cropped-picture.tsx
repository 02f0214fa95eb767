import type { Template } from "../../shared/templates/catalogue.ts";
import { usePreview } from "../../shared/templates/use-preview.ts";
import { buttonClass } from "../../shared/ui/button.ts";
import { PicturePlaceholder } from "../../shared/ui/picture-placeholder.tsx";
import { ProofPicture } from "../../shared/ui/proof-picture.tsx";

const SIZES = "(min-width: 80rem) 32vw, (min-width: 64rem) 52vw, 90vw";

/** The top of the e-mail; a button below it shows the whole, also without JavaScript. */
export function CroppedPicture({ template }: { template: Template }) {
  const preview = usePreview(template.id);
  const label = preview?.alt ?? template.title;
  const placeholder = <PicturePlaceholder label={label} category={template.category} />;
  if (!preview) return <div className="proof">{placeholder}</div>;
  return (
    <div className="proof group/crop flex flex-col">
      <div className="crop-fade max-h-[26rem] overflow-hidden group-has-[details[open]]/crop:max-h-none group-has-[details[open]]/crop:[mask-image:none] sm:max-h-[38rem]">
        <ProofPicture
          picture={preview.detail}
          alt={preview.alt}
          sizes={SIZES}
          first
          className="h-auto w-full bg-sheet shadow-high"
          fallback={placeholder}
        />
      </div>
      <details className="mt-4 print:hidden">
        <summary
          className={`${buttonClass("plain")} w-full cursor-pointer list-none bg-paper [&::-webkit-details-marker]:hidden`}
        >
          See the whole email
        </summary>
      </details>
    </div>
  );
}
