import { ImageOff } from "lucide-react";
import { useQuery } from "../../shell/data/use-query.ts";
import { loadPicture, type Template } from "./api.ts";

/** The picture of a template, in the proportions of those that networks show; its title is beside it. */
export function Picture({ template, className }: { template: Template; className: string }) {
  const frame = `grid aspect-[40/21] place-items-center overflow-hidden rounded-small border border-line bg-wall text-ink-soft ${className}`;
  return (
    <span className={frame}>
      {template.has_picture ? (
        <Loaded id={template.id} uploaded={template.values.picture} />
      ) : (
        <ImageOff aria-hidden="true" className="size-4" />
      )}
    </span>
  );
}

function Loaded({ id, uploaded }: { id: number; uploaded: string }) {
  const { value, failure } = useQuery(`picture/${id}/${uploaded}`, () => loadPicture(id));
  if (failure && !value) return <ImageOff aria-hidden="true" className="size-4" />;
  return value && <img src={value} alt="" className="size-full object-cover" />;
}
