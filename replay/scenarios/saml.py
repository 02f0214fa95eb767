"""Single sign-on with SAML 2.0: authentication request, assertion, metadata of the service provider."""

import base64
import xml.etree.ElementTree as ET

from harness.registry import scenario
from harness.saml_idp import EMAIL, TRANSIENT, IdentityProvider, Request, metadata


def company(flow, mapping=None, **more):
    """Create an SSO provider for the scenario. Returns identity provider, id and domain."""
    name = flow.name.replace(".", "-").replace("_", "-")
    idp = IdentityProvider(flow.base, f"https://{name}.idp.example.com/metadata")
    domain = f"{name}.example.com"
    made = flow.post("/admin/sso/providers", {"type": "saml", "metadata_xml": metadata(idp.entity), "domains": [domain],
                                              "attribute_mapping": mapping or {}, **more}, token=flow.service_role, record=False)
    assert made.status == 201, made.text
    return idp, made["id"], domain


def start(flow, domain, **more):
    """Return the authentication request of an unrecorded POST /sso."""
    return Request(flow.post("/sso", {"domain": domain, "skip_http_redirect": True, **more}, record=False)["url"])


def deliver(flow, response, relay_state=None, label=None):
    form = {"SAMLResponse": response}
    if response.startswith("PHNhbWxw"):  # "<samlp": errors repeat the whole response
        flow.names.learn(base64.b64decode(response).decode(), "the response")
    if relay_state is not None:
        form["RelayState"] = relay_state
    return flow.post("/sso/saml/acs", form=form, label=label)


@scenario("saml")
def the_service_provider_describes_itself(flow):
    answer = flow.get("/sso/saml/metadata", record=False)
    root = ET.fromstring(answer.text)
    space = "{urn:oasis:names:tc:SAML:2.0:metadata}"
    descriptor = root.find(f"{space}SPSSODescriptor")
    flow.note("metadata", {
        "status": answer.status, "content type": answer.headers["content-type"], "cache": answer.headers.get("cache-control"),
        "entity": root.get("entityID"), "descriptor": dict(descriptor.attrib),
        "name id formats": [e.text for e in descriptor.findall(f"{space}NameIDFormat")],
        "consumers": [dict(e.attrib) for e in descriptor.findall(f"{space}AssertionConsumerService")],
        "keys": [e.get("use") for e in descriptor.findall(f"{space}KeyDescriptor")],
        "certificate of the host": b"SAML 2.0 Certificate for 127.0.0.1" in base64.b64decode(root.find(".//{*}X509Certificate").text),
    })
    download = flow.get("/sso/saml/metadata?download=true", record=False)
    flow.note("download", {"disposition": download.headers.get("content-disposition"), "has an end": "validUntil" in download.text})


@scenario("saml")
def signing_in_starts_at_the_identity_provider(flow):
    idp, provider, domain = company(flow)
    by_domain = flow.post("/sso", {"domain": domain})
    request = Request(by_domain.headers["location"])
    flow.note("the request", request.facts)
    flow.note("its signature is that of the configured key", request.signed_by(flow.env["GOTRUE_SAML_PRIVATE_KEY"]))
    flow.post("/sso", {"provider_id": provider, "skip_http_redirect": True}, label="by id, as JSON")
    flow.post("/sso", {"domain": domain, "skip_http_redirect": False}, label="skip_http_redirect false")


@scenario("saml")
def what_cannot_start(flow):
    idp, provider, domain = company(flow)
    flow.post("/sso", {}, label="nothing")
    flow.post("/sso", {"domain": domain, "provider_id": provider}, label="both")
    flow.post("/sso", {"domain": "nobody.example.com"}, label="unknown domain")
    flow.post("/sso", {"domain": domain.upper()}, label="domain in capitals")
    flow.post("/sso", {"provider_id": "7c1d9f64-9d3c-4f0e-8a5f-0d1b2c3d4e5f"}, label="unknown provider")
    flow.post("/sso", {"provider_id": "acme"}, label="provider id not a UUID")
    flow.post("/sso", {"domain": domain, "code_challenge": "x" * 43}, label="half a PKCE pair")
    flow.put(f"/admin/sso/providers/{provider}", {"disabled": True}, token=flow.service_role, record=False)
    flow.post("/sso", {"domain": domain}, label="provider switched off")


@scenario("saml")
def an_assertion_for_the_request_signs_in(flow):
    idp, provider, domain = company(flow)
    request = start(flow, domain, redirect_to="https://app.example.com/callback")
    response = idp.response("ann-at-work", {"mail": flow.address("ann")}, request.id, session_ends=3600)
    back = deliver(flow, response, request.relay_state)
    flow.get("/user", token=back.location[2]["access_token"])
    deliver(flow, response, request.relay_state, "the same once more")
    session = flow.database.query("select not_after is not null, abs(extract(epoch from not_after - now()) - 3600) < 60 from auth.sessions "
                                  f"where user_id = (select user_id from auth.identities where provider = 'sso:{provider}')")
    flow.note("the session ends with the one at the identity provider", session)


@scenario("saml")
def with_pkce_a_code_comes_back(flow):
    idp, _, domain = company(flow)
    verifier, challenge = flow.pkce()
    request = start(flow, domain, code_challenge=challenge, code_challenge_method="s256", redirect_to="https://app.example.com/callback")
    back = deliver(flow, idp.response("ann-at-work", {"mail": flow.address("ann")}, request.id), request.relay_state)
    flow.post("/token?grant_type=pkce", {"auth_code": back.location[1]["code"], "code_verifier": verifier})


@scenario("saml")
def an_identity_provider_may_start_by_itself(flow):
    idp, _, domain = company(flow)
    response = idp.response("ann-at-work", {"email": flow.address("ann")})
    deliver(flow, response, label="no relay state")
    deliver(flow, idp.response("ann-at-work", {"email": flow.address("ann")}, serial="2"), "https://app.example.com/callback", "relay state names the target")
    deliver(flow, idp.response("ann-at-work", {"email": flow.address("ann")}, serial="3"), "https://evil.example.com/", "a target that is not allowed")
    deliver(flow, response, label="the first assertion again")


@scenario("saml")
def attributes_become_metadata_as_mapped(flow):
    idp, _, domain = company(flow, {"keys": {
        "name": {"name": "displayName"}, "email": {"names": ["workMail", "mail"]}, "groups": {"name": "groups", "array": True},
        "site": {"name": "site", "default": "Basel"}, "title": {"name": "title"}, "given_name": {"name": "GIVENNAME"}}})
    request = start(flow, domain)
    back = deliver(flow, idp.response("ann-at-work", {
        "displayName": "Ann Example", "mail": flow.address("ann"), "groups": ["staff", "chess"], "givenName": "Ann", "unmapped": "not kept"}, request.id),
        request.relay_state)
    flow.get("/user", token=back.location[2]["access_token"])


@scenario("saml")
def who_a_person_is(flow):
    idp, _, _ = company(flow)
    ann = flow.address("ann")
    subject = "urn:oasis:names:tc:SAML:attribute:subject-id"
    for serial, label, response in (
        ("1", "e-mail as name", dict(name_id=ann.upper(), name_format=EMAIL)),
        ("2", "a subject-id beats the name", dict(name_id="x", attributes={subject: "ann@work", "mail": ann})),
        ("3", "a passing name only", dict(name_id="x", name_format=TRANSIENT, attributes={"mail": ann})),
        ("4", "a passing name and a subject-id", dict(name_id="x", name_format=TRANSIENT, attributes={subject: "ann@work", "mail": ann})),
        ("5", "no address", dict(name_id="ann-at-work", attributes={"phone": "1"})),
        ("6", "address by its number", dict(name_id="bob", attributes={"urn:oid:0.9.2342.19200300.100.1.3": flow.address("bob")})),
    ):
        deliver(flow, idp.response(serial=serial, **response), label=label)


@scenario("saml")
def an_assertion_that_does_not_hold(flow):
    idp, _, _ = company(flow)
    ann = {"mail": flow.address("ann")}
    for label, response in (
        ("changed after signing", idp.response("ann", ann, tamper=lambda xml: xml.replace(">ann<", ">bob<"))),
        ("not signed", idp.response("ann", ann, sign="")),
        ("expired", idp.response("ann", ann, starts=-900, ends=-600)),
        ("not yet valid", idp.response("ann", ann, starts=600, ends=900)),
        ("issued long ago", idp.response("ann", ann, issued=-600)),
        ("for another service", idp.response("ann", ann, audience="https://other.example.com")),
        ("sent elsewhere", idp.response("ann", ann, destination="https://other.example.com/acs")),
        ("for another recipient", idp.response("ann", ann, recipient="https://other.example.com/acs")),
        ("a refusal", idp.response("ann", ann, status="Responder")),
    ):
        deliver(flow, response, label=label)


@scenario("saml")
def the_response_may_be_signed_instead(flow):
    idp, _, _ = company(flow)
    ann = {"mail": flow.address("ann")}
    deliver(flow, idp.response("ann", ann, sign="response"), label="only the response")
    deliver(flow, idp.response("ann", ann, sign="both", serial="2"), label="both")
    deliver(flow, idp.response("ann", ann, sign="response", tamper=lambda xml: xml.replace(">ann<", ">bob<"), serial="3"), label="signed as it is")


@scenario("saml")
def the_answer_must_belong_to_the_request(flow):
    idp, provider, domain = company(flow)
    other, _, _ = company_of_another_name(flow)
    ann = {"mail": flow.address("ann")}
    request = start(flow, domain)
    deliver(flow, idp.response("ann", ann, "id-of-nobody"), request.relay_state, "answers another request")
    request = start(flow, domain)
    deliver(flow, idp.response("ann", ann), request.relay_state, "answers no request")
    request = start(flow, domain)
    deliver(flow, other.response("ann", ann, request.id), request.relay_state, "another identity provider answers")
    request = start(flow, domain)
    flow.database.query(f"update auth.saml_relay_states set created_at = created_at - interval '121 seconds' where id = '{request.relay_state}'")
    deliver(flow, idp.response("ann", ann, request.id), request.relay_state, "after two minutes")
    deliver(flow, idp.response("ann", ann, request.id), request.relay_state, "and again")
    request = start(flow, domain)
    flow.put(f"/admin/sso/providers/{provider}", {"disabled": True}, token=flow.service_role, record=False)
    deliver(flow, idp.response("ann", ann, request.id), request.relay_state, "provider switched off meanwhile")


def company_of_another_name(flow):
    idp = IdentityProvider(flow.base, "https://another.idp.example.com/metadata")
    flow.post("/admin/sso/providers", {"type": "saml", "metadata_xml": metadata(idp.entity)}, token=flow.service_role, record=False)
    return idp, None, None


@scenario("saml")
def what_is_no_response(flow):
    flow.post("/sso/saml/acs", form={}, label="nothing")
    deliver(flow, "not base64!", label="not base64")
    deliver(flow, "aGVsbG8=", label="not XML")
    deliver(flow, IdentityProvider(flow.base, "https://unknown.example.com").response("ann"), label="unknown identity provider")
    deliver(flow, "aGVsbG8=", "some words", "relay state neither UUID nor URL")
    deliver(flow, "aGVsbG8=", "7c1d9f64-9d3c-4f0e-8a5f-0d1b2c3d4e5f", "unknown relay state")
    flow.post("/sso/saml/acs", form={"SAMLart": "AAQ"}, label="an artifact")
    flow.get("/sso/saml/acs", label="GET")


@scenario("saml")
def people_of_a_company_are_kept_apart(flow):
    ann = flow.new_user()
    idp, _, _ = company(flow)
    back = deliver(flow, idp.response("ann-at-work", {"mail": ann["email"]}))
    token = back.location[2]["access_token"]
    flow.note("another account", flow.get("/user", token=token, record=False)["id"] != ann["id"])
    flow.put("/user", {"password": "another password"}, token=token, label="they cannot set a password")
    flow.put("/user", {"email": flow.address("new")}, token=token, label="nor another address")
    flow.put("/user", {"data": {"desk": 7}}, token=token, label="but metadata")
    flow.post("/token?grant_type=password", {"email": ann["email"], "password": ann["password"]}, label="the other account is as it was")


@scenario()
def single_sign_on_is_off_by_default(flow):
    flow.post("/sso", {"domain": "example.com"})
    flow.get("/sso/saml/metadata")
    flow.post("/sso/saml/acs", form={"SAMLResponse": "x"})
