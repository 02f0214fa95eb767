import { useId, useState } from "react";
import { paths } from "../../shared/paths.ts";
import { Slot } from "../../shared/slots.tsx";
import type { Template } from "../../shared/templates/catalogue.ts";
import {
  type FurtherMail,
  type Preview,
  type ShownPicture,
  usePreview,
} from "../../shared/templates/use-preview.ts";
import { buttonClass } from "../../shared/ui/button.ts";
import { PicturePlaceholder } from "../../shared/ui/picture-placeholder.tsx";
import { ProofPicture } from "../../shared/ui/proof-picture.tsx";
import { LiveMail } from "./live-mail.tsx";
import { PreviewTabs } from "./preview-tabs.tsx";

const VIEWS = [
  { name: "Desktop", view: "detail", note: undefined },
  { name: "Phone", view: "phone", note: "The same email on a phone." },
  { name: "Dark", view: "dark", note: "The same email in a dark mailbox." },
  {
    name: "Images off",
    view: "unloaded",
    note: "The same email with images off: a text stands in place of each picture.",
  },
  { name: "Windows", view: "windows", note: "The same email with the fonts of Windows and Gmail." },
  {
    name: "Plain text",
    view: "text",
    note: "The text of the same email for programs that show no HTML.",
  },
] as const;

/** The displayed widths: an email is 600 pixels wide, its page on a phone 375, where the screen has room. */
const SIZES = "(min-width: 44rem) min(37.5rem, 52vw), 90vw";
const PHONE_SIZES = "(min-width: 40rem) 23.5rem, 90vw";

/** The crop of a long picture, with a sharp edge: a fade would be milky on dark emails. It ends when the button is pressed. */
const CROP =
  "group-has-[>details]/crop:max-h-[26rem] overflow-hidden sm:group-has-[>details]/crop:max-h-[38rem] group-has-[>details[open]]/crop:max-h-none! print:max-h-none!";

/** Paged layout does not clip a picture by the element around it: it would cover what follows. */
const PRINTED = "print:h-96 print:object-cover print:object-top print:shadow-none";

/** The button below a picture that shows more, also without a script. */
const SUMMARY = `${buttonClass("plain")} w-full cursor-pointer list-none bg-paper [&::-webkit-details-marker]:hidden`;

/** A view of a mail: its picture, what it shows in place of the alternative text, and the number of the mail in its product. */
interface View {
  key: string;
  name: string;
  view: "detail" | "phone" | "dark" | "unloaded" | "windows" | "text" | "further";
  note: string | undefined;
  picture: ShownPicture | undefined;
  mail: number;
}

/**
 * Pictures of the files that a buyer gets, one view at a time, or the picture that the owner gives. A long one is
 * cropped to the top. A button shows the whole, also without JavaScript, where there are the first view of each mail
 * only, one below the other. Another button shows the mail itself.
 */
export function EmailPreview({ template }: { template: Template }) {
  const preview = usePreview(template);
  const [active, setActive] = useState(0);
  const [isLive, setLive] = useState(false);
  const id = useId();
  const label = preview?.alt ?? template.title;
  const placeholder = <PicturePlaceholder label={label} category={template.category} />;
  if (!preview) return <div className="proof">{placeholder}</div>;
  const views = listViews(preview);
  const shown = views[active] ?? views[0];
  if (!shown) return null;
  const { view, note, picture, mail } = shown;
  // The frame shows the pictures of the mail, and the fonts of this machine.
  const hasFrame = view !== "unloaded" && view !== "windows" && view !== "text";
  // Of plain text there is no picture.
  const isText = view === "text";
  const isFramed = isText || (isLive && hasFrame);
  const panel = { role: "tabpanel", id: `${id}-panel`, "aria-labelledby": `${id}-${shown.key}` };
  return (
    <div className="proof group/crop flex flex-wrap gap-x-3 [&>noscript]:w-full">
      {preview.views && (
        <PreviewTabs
          id={id}
          label={template.title}
          tabs={views}
          active={active}
          onChoose={setActive}
        />
      )}
      <div {...(preview.views && panel)} className={isFramed ? "w-full" : `w-full ${CROP}`}>
        {isFramed ? (
          <LiveMail
            title={view === "further" || isText ? (note ?? preview.alt) : preview.alt}
            path={isText ? paths.plainTexts(template.id) : paths.mail(template.id, mail)}
            isNarrow={view === "phone"}
            isDark={view === "dark"}
          />
        ) : (
          <ProofPicture
            key={shown.key}
            picture={picture ?? preview.detail}
            alt={note ?? preview.alt}
            sizes={view === "phone" ? PHONE_SIZES : SIZES}
            first={active === 0}
            className={`mx-auto h-auto bg-sheet shadow-high ${PRINTED} w-full ${view === "phone" ? "sm:max-w-94" : "sm:max-w-150"}`}
            fallback={placeholder}
          />
        )}
      </div>
      {!isFramed && <Slot name="crop">{isLong(preview) && <WholeButton />}</Slot>}
      {preview.views && hasFrame && (
        <button
          type="button"
          onClick={() => setLive(!isLive)}
          className={`${buttonClass("plain")} mt-3 min-w-[min(13rem,100%)] flex-1 bg-paper sm:mt-4 print:hidden [@media(scripting:none)]:hidden`}
        >
          {isLive ? "Show the pictures" : "Open the live email"}
        </button>
      )}
      {preview.views && <FurtherMails mails={preview.views.further} category={template.category} />}
    </div>
  );
}

/** Returns the views of a product: those of its first mail, and its other letters or layouts. */
function listViews(preview: Preview): View[] {
  const views = VIEWS.map((view) => ({
    ...view,
    key: view.view,
    picture: view.view === "text" ? undefined : { ...preview, ...preview.views }[view.view],
    mail: 1,
  }));
  const further = (preview.views?.further ?? []).map(({ name, mail, alt, picture }) => ({
    key: `mail-${mail}`,
    name,
    view: "further" as const,
    note: alt,
    picture,
    mail,
  }));
  return [...views, ...further];
}

interface FurtherMailsProps {
  mails: FurtherMail[];
  category: string;
}

/** The other letters or layouts where no tabs can choose them, each behind a button. */
function FurtherMails({ mails, category }: FurtherMailsProps) {
  return (
    <noscript>
      {mails.map(({ name, mail, alt, picture }) => (
        <Slot key={mail} name="mails">
          <details className="mt-4 print:hidden">
            <summary className={SUMMARY}>{name}</summary>
            <ProofPicture
              picture={picture}
              alt={alt}
              sizes={SIZES}
              className="mx-auto mt-4 h-auto w-full bg-sheet shadow-high sm:max-w-150"
              fallback={<PicturePlaceholder label={alt} category={category} />}
            />
          </details>
        </Slot>
      ))}
    </noscript>
  );
}

/** Returns whether a picture is cropped. The slots of the prerendering, which are no numbers, count as long. */
function isLong({ detail: { width, height } }: Preview): boolean {
  return !(height <= 1.5 * width);
}

function WholeButton() {
  return (
    <details className="group/whole mt-4 min-w-[min(13rem,100%)] flex-1 print:hidden">
      <summary className={SUMMARY}>
        <span className="group-open/whole:hidden">See the whole email</span>
        <span className="hidden group-open/whole:inline">Show less</span>
      </summary>
    </details>
  );
}
