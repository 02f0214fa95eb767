// Signs the user in, shows what an app requests, and submits the decision. Tokens stay in this tab.
import { createAuthApi } from "./api.ts";
import { ConsentPage } from "./page.ts";

const key = document.querySelector<HTMLMetaElement>("meta[name=publishable-key]")?.content ?? "";
const authorizationId = new URLSearchParams(location.search).get("authorization_id") ?? "";

void new ConsentPage({
  authorizationId,
  api: createAuthApi(key),
  redirect: (address) => location.replace(address),
}).start();
