import { useParams } from "react-router-dom";
import { SplitView } from "../../shell/frame/split-view.tsx";
import { TemplateView } from "./detail.tsx";
import { CatalogueList } from "./list.tsx";
import { NewTemplate } from "./new-template.tsx";

/** The list of templates, and the one that is open. */
export function CataloguePage() {
  const { id } = useParams();
  return <SplitView label="Catalogue" list={<CatalogueList open={id} />} detail={detailOf(id)} />;
}

function detailOf(id: string | undefined) {
  if (id === undefined) return undefined;
  return id === "new" ? <NewTemplate /> : <TemplateView key={id} id={id} />;
}
