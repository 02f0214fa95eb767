import { generateKeyPairSync, type KeyObject, randomUUID } from "node:crypto";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { inflateRawSync } from "node:zlib";
import { SignedXml } from "xml-crypto";
import { selfSigned } from "./certificate.ts";

const EXCLUSIVE = "http://www.w3.org/2001/10/xml-exc-c14n#";
const ENVELOPED = "http://www.w3.org/2000/09/xmldsig#enveloped-signature";
const SHA256 = "http://www.w3.org/2001/04/xmlenc#sha256";
const RSA_SHA256 = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256";
const PERSISTENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent";
const BEARER = "urn:oasis:names:tc:SAML:2.0:cm:bearer";

/** An authentication request of a service provider, by the redirect binding. */
interface AuthnRequest {
  id: string;
  /** The assertion consumer service URL. */
  consumer: string;
  /** The entity id of the service provider. */
  issuer: string;
}

/** An identity provider: a page to choose a user, and responses signed with a new key. */
export interface IdentityProvider {
  /** The SAML metadata document. */
  metadata: string;
  /** Sets a function that changes every signed response. */
  tamper: (change: (response: string) => string) => void;
  close: () => void;
}

export async function startIdentityProvider(): Promise<IdentityProvider> {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const certificate = selfSigned(publicKey, privateKey);
  let changed = (response: string) => response;
  let origin = "";
  const server = createServer((incoming, response) => {
    const url = new URL(incoming.url ?? "", origin);
    if (url.pathname === "/sso") return page(response, userLinks(url));
    if (url.pathname !== "/as") return response.writeHead(404).end();
    const request = parseRequest(url.searchParams.get("SAMLRequest") ?? "");
    const signed = sign(
      formatResponse(origin, request, url.searchParams.get("who") ?? ""),
      privateKey,
    );
    const form = { SAMLResponse: changed(signed), RelayState: url.searchParams.get("RelayState") };
    page(response, submittedForm(request.consumer, form));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    metadata: formatMetadata(origin, certificate),
    tamper(change) {
      changed = change;
    },
    close: () => server.close(),
  };
}

function formatMetadata(origin: string, certificate: string): string {
  return `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${origin}"><IDPSSODescriptor
    protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"><KeyDescriptor use="signing"><KeyInfo
    xmlns="http://www.w3.org/2000/09/xmldsig#"><X509Data><X509Certificate>${certificate}</X509Certificate></X509Data></KeyInfo>
    </KeyDescriptor><SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="${origin}/sso"/>
    </IDPSSODescriptor></EntityDescriptor>`;
}

function page(response: ServerResponse, body: string): void {
  response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
  response.end(`<!doctype html><html lang="en"><title>Identity provider</title>${body}</html>`);
}

/** Returns a link per user, with the request in its query. */
function userLinks(url: URL): string {
  const link = (who: string) => {
    const query = new URLSearchParams(url.searchParams);
    query.set("who", who);
    return `<p><a href="/as?${escaped(query.toString())}">Sign in as ${who}</a></p>`;
  };
  return `<h1>The company</h1>${["ann", "bob"].map(link).join("")}`;
}

/** Returns a form that the browser submits automatically (POST binding). */
function submittedForm(
  to: string,
  form: { SAMLResponse: string; RelayState: string | null },
): string {
  const field = (name: string, value: string) =>
    `<input type="hidden" name="${name}" value="${escaped(value)}">`;
  const response = field("SAMLResponse", Buffer.from(form.SAMLResponse).toString("base64"));
  return `<form method="post" action="${escaped(to)}">${response}${field("RelayState", form.RelayState ?? "")}</form>
    <script>document.forms[0].submit()</script>`;
}

function parseRequest(encoded: string): AuthnRequest {
  const xml = inflateRawSync(Buffer.from(encoded, "base64")).toString();
  const found = (pattern: RegExp) => {
    const value = pattern.exec(xml)?.[1];
    if (!value) throw new Error(`the request has no ${pattern.source}: ${xml}`);
    return value;
  };
  return {
    id: found(/\bID="([^"]+)"/),
    consumer: found(/AssertionConsumerServiceURL="([^"]+)"/),
    issuer: found(/<(?:\w+:)?Issuer[^>]*>([^<]+)</),
  };
}

/** Returns the unsigned response to a request, about a user. */
function formatResponse(issuer: string, request: AuthnRequest, who: string): string {
  const at = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();
  const assertion = `<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="_${randomUUID()}"
    IssueInstant="${at(0)}" Version="2.0"><saml:Issuer>${issuer}</saml:Issuer><saml:Subject><saml:NameID
    Format="${PERSISTENT}">${who}-at-work</saml:NameID><saml:SubjectConfirmation Method="${BEARER}">
    <saml:SubjectConfirmationData InResponseTo="${request.id}" NotOnOrAfter="${at(300)}" Recipient="${request.consumer}"/>
    </saml:SubjectConfirmation></saml:Subject><saml:Conditions NotBefore="${at(-60)}" NotOnOrAfter="${at(300)}">
    <saml:AudienceRestriction><saml:Audience>${request.issuer}</saml:Audience></saml:AudienceRestriction></saml:Conditions>
    <saml:AuthnStatement AuthnInstant="${at(0)}"/><saml:AttributeStatement><saml:Attribute Name="mail">
    <saml:AttributeValue>${who}@company.example</saml:AttributeValue></saml:Attribute></saml:AttributeStatement>
    </saml:Assertion>`;
  return `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" Destination="${request.consumer}"
    ID="_${randomUUID()}" InResponseTo="${request.id}" IssueInstant="${at(0)}" Version="2.0"><saml:Issuer
    xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">${issuer}</saml:Issuer><samlp:Status><samlp:StatusCode
    Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>${assertion}</samlp:Response>`;
}

/** Signs the assertion of a response; the schema requires the signature after the issuer. */
function sign(response: string, key: KeyObject): string {
  const signature = new SignedXml({
    privateKey: key.export({ type: "pkcs8", format: "pem" }),
    signatureAlgorithm: RSA_SHA256,
    canonicalizationAlgorithm: EXCLUSIVE,
  });
  const assertion = "//*[local-name(.)='Assertion']";
  signature.addReference({
    xpath: assertion,
    transforms: [ENVELOPED, EXCLUSIVE],
    digestAlgorithm: SHA256,
  });
  const reference = `${assertion}/*[local-name(.)='Issuer']`;
  signature.computeSignature(response, { location: { reference, action: "after" }, prefix: "ds" });
  return signature.getSignedXml();
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
}
