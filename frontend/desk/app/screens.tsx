import {
  ChartColumn,
  CircleUserRound,
  Inbox,
  LayoutGrid,
  ListChecks,
  ReceiptText,
} from "lucide-react";
import { lazy, Suspense } from "react";
import { Navigate, Route, Routes } from "react-router-dom";
import { SubmissionsPage } from "../features/submissions/page.tsx";
import { Frame, type NavigationItem } from "../shell/frame/frame.tsx";
import { NotFoundPage } from "../shell/frame/not-found-page.tsx";
import { RecoveryNotice } from "../shell/session/recovery-notice.tsx";
import { useSession } from "../shell/session/session.tsx";
import { ListSkeleton } from "../shell/ui/skeleton.tsx";
import { ScreenBoundary } from "./screen-boundary.tsx";

const OrdersPage = lazy(async () => ({
  default: (await import("../features/orders/page.tsx")).OrdersPage,
}));
const CataloguePage = lazy(async () => ({
  default: (await import("../features/catalogue/page.tsx")).CataloguePage,
}));
const FiguresPage = lazy(async () => ({
  default: (await import("../features/figures/page.tsx")).FiguresPage,
}));
const ChecklistPage = lazy(async () => ({
  default: (await import("../features/checklist/page.tsx")).ChecklistPage,
}));
const AccountPage = lazy(async () => ({
  default: (await import("../features/account/page.tsx")).AccountPage,
}));

const ITEMS: readonly NavigationItem[] = [
  { path: "/submissions", label: "Submissions", icon: Inbox },
  { path: "/orders", label: "Orders", icon: ReceiptText },
  { path: "/catalogue", label: "Catalogue", icon: LayoutGrid },
  { path: "/figures", label: "Figures", icon: ChartColumn },
  { path: "/checklist", label: "Checklist", icon: ListChecks },
  { path: "/account", label: "Account", icon: CircleUserRound, isInMenu: true },
];

/** All screens of a signed-in user. */
export function Screens() {
  const { shop_name: name } = useSession();
  return (
    <Frame name={name} application="Desk" items={ITEMS} notice={<RecoveryNotice />}>
      <ScreenBoundary>
        <Suspense fallback={<ListSkeleton />}>
          <Routes>
            <Route index element={<Navigate to="/submissions" replace />} />
            <Route path="/submissions/:id?" element={<SubmissionsPage />} />
            <Route path="/orders/:id?" element={<OrdersPage />} />
            <Route path="/catalogue/:id?" element={<CataloguePage />} />
            <Route path="/figures" element={<FiguresPage />} />
            <Route path="/checklist" element={<ChecklistPage />} />
            <Route path="/account" element={<AccountPage />} />
            <Route path="*" element={<NotFoundPage />} />
          </Routes>
        </Suspense>
      </ScreenBoundary>
    </Frame>
  );
}
