// The library openid-client against the OAuth server, as apps use it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import * as oidc from "openid-client";
import { approve, ask, signUp, startProvider } from "./provider.mjs";

const CALLBACK = "http://localhost:3000/callback";
const SCOPE = "openid email profile offline_access";
// The server of the test has no TLS; signatures are checked although ID tokens come from the token endpoint.
const options = { execute: [oidc.allowInsecureRequests, oidc.enableNonRepudiationChecks] };

/** Authentication methods of clients at the token endpoint. */
const CLIENT_AUTHENTICATION = {
  client_secret_basic: oidc.ClientSecretBasic(),
  client_secret_post: oidc.ClientSecretPost(),
  none: oidc.None(),
};

/** @type {import("./basalt.mjs").Basalt} */
let basalt;
/** @type {import("./provider.mjs").TestUser} */
let user;

before(async () => {
  basalt = await startProvider();
  user = await signUp(basalt, `openid-${Date.now()}@example.com`);
});

after(() => basalt.stop());

/** @param {keyof typeof CLIENT_AUTHENTICATION} method */
function registered(method) {
  return oidc.dynamicClientRegistration(
    new URL(`${basalt.url}/auth/v1`),
    {
      client_name: `An app with ${method}`,
      redirect_uris: [CALLBACK],
      token_endpoint_auth_method: method,
    },
    CLIENT_AUTHENTICATION[method],
    options,
  );
}

/** @param {oidc.Configuration} app */
async function signedIn(app) {
  const checks = {
    pkceCodeVerifier: oidc.randomPKCECodeVerifier(),
    expectedState: oidc.randomState(),
    expectedNonce: oidc.randomNonce(),
    idTokenExpected: true,
  };
  const url = oidc.buildAuthorizationUrl(app, {
    redirect_uri: CALLBACK,
    scope: SCOPE,
    state: checks.expectedState,
    nonce: checks.expectedNonce,
    code_challenge: await oidc.calculatePKCECodeChallenge(checks.pkceCodeVerifier),
    code_challenge_method: "S256",
  });
  const back = await approve(basalt, user, url);
  return { back, checks, tokens: await oidc.authorizationCodeGrant(app, back, checks) };
}

/** @param {oidc.Configuration} app */
function revoked(app) {
  const path = `/user/oauth/grants?client_id=${app.clientMetadata().client_id}`;
  return ask(basalt, path, { method: "DELETE", token: user.accessToken });
}

test("discovery names what is served, and no revocation endpoint", async () => {
  const app = await oidc.discovery(
    new URL(`${basalt.url}/auth/v1`),
    "any",
    undefined,
    undefined,
    options,
  );
  const found = app.serverMetadata();
  assert.equal(found.issuer, `${basalt.url}/auth/v1`);
  assert.equal(found.supportsPKCE(), true);
  assert.equal(found.revocation_endpoint, undefined);
  assert.ok(found.jwks_uri && found.userinfo_endpoint && found.registration_endpoint);
});

for (const method of /** @type {(keyof typeof CLIENT_AUTHENTICATION)[]} */ (
  Object.keys(CLIENT_AUTHENTICATION)
)) {
  test(`an app with ${method} registers, signs in, refreshes, and its grant is revoked`, async () => {
    const app = await registered(method);
    assert.equal(app.clientMetadata().token_endpoint_auth_method, method);
    const { tokens } = await signedIn(app);
    const claims = tokens.claims();
    assert.equal(claims?.aud, app.clientMetadata().client_id);
    assert.equal(claims?.email, user.email);
    assert.equal(tokens.token_type, "bearer");

    const sub = claims?.sub ?? "";
    const info = await oidc.fetchUserInfo(app, tokens.access_token, sub);
    assert.equal(info.email, user.email);
    assert.equal(info.name, "Ada");

    const next = await oidc.refreshTokenGrant(app, tokens.refresh_token ?? "");
    assert.notEqual(next.refresh_token, tokens.refresh_token);
    await oidc.fetchUserInfo(app, next.access_token, sub);

    await revoked(app);
    await assert.rejects(oidc.refreshTokenGrant(app, next.refresh_token ?? ""), {
      error: "invalid_grant",
    });
    await assert.rejects(oidc.fetchUserInfo(app, next.access_token, sub));
  });
}

test("a code is single-use, and bound to its client and verifier", async () => {
  const app = await registered("client_secret_basic");
  const { back, checks } = await signedIn(app);
  await assert.rejects(oidc.authorizationCodeGrant(app, back, checks), { error: "invalid_grant" });

  const url = oidc.buildAuthorizationUrl(app, {
    redirect_uri: CALLBACK,
    scope: SCOPE,
    code_challenge: await oidc.calculatePKCECodeChallenge(checks.pkceCodeVerifier),
    code_challenge_method: "S256",
  });
  const code = await approve(basalt, user, url);
  const guessed = { pkceCodeVerifier: oidc.randomPKCECodeVerifier() };
  await assert.rejects(oidc.authorizationCodeGrant(app, code, guessed), {
    error: "invalid_grant",
  });
});

// No user has approved a client that registered itself: its errors are answered, not redirected (RFC 9700, section 4.11.2).
test("an invalid scope of a client that registered itself is answered here", async () => {
  const app = await registered("none");
  const url = oidc.buildAuthorizationUrl(app, {
    redirect_uri: CALLBACK,
    scope: "openid admin",
    state: "s",
    code_challenge: await oidc.calculatePKCECodeChallenge(oidc.randomPKCECodeVerifier()),
    code_challenge_method: "S256",
  });
  const answer = await fetch(url, { redirect: "manual" });
  assert.equal(answer.status, 400);
  assert.equal(answer.headers.get("location"), null);
  assert.equal((await answer.json()).error, "invalid_request");
});
