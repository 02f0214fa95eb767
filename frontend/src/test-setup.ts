import { cleanup } from "@testing-library/react";
import { afterEach } from "vitest";

// No test has a server that sends the pages of frames.
if (typeof window !== "undefined") {
  const { happyDOM } = window as { happyDOM?: { settings: { disableIframePageLoading: boolean } } };
  if (happyDOM) happyDOM.settings.disableIframePageLoading = true;
}

afterEach(() => {
  cleanup();
  sessionStorage.clear();
});
