// Shows the messages that were kept instead of sent, as they arrive.
import { createInboxApi } from "./api.ts";
import { InboxPage } from "./page.ts";

const query = new URLSearchParams(location.search);

const page = new InboxPage({
  api: createInboxApi(query.get("token") ?? ""),
  search: query.get("to") ?? "",
  copy: (text) => navigator.clipboard.writeText(text),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  signal: new AbortController().signal,
});

void page.start().then(() => page.watch());
