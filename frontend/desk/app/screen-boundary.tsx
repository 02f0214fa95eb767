import { TriangleAlert } from "lucide-react";
import { Component, type ReactNode } from "react";
import { Button } from "../shell/ui/button.tsx";
import { EmptyState } from "../shell/ui/empty-state.tsx";

/** Shows a way on if a screen cannot be loaded or rendered. */
export class ScreenBoundary extends Component<{ children: ReactNode }, { hasFailed: boolean }> {
  override state = { hasFailed: false };

  static getDerivedStateFromError() {
    return { hasFailed: true };
  }

  override componentDidCatch(error: unknown) {
    console.error("The screen failed:", error);
  }

  override render() {
    if (!this.state.hasFailed) return this.props.children;
    return (
      <div role="alert">
        <EmptyState icon={TriangleAlert} title="This screen could not be loaded">
          <p>
            The connection was lost, or the server has a newer version of the desk. Load the page
            again; nothing that was sent is lost.
          </p>
          <Button onClick={() => location.reload()}>Load again</Button>
        </EmptyState>
      </div>
    );
  }
}
