"""/admin/sso/providers: SAML identity providers."""

from harness.registry import scenario
from harness.saml_idp import EMAIL, metadata

PROVIDERS = "/admin/sso/providers"


def entity(flow, name="one"):
    return f"https://{name}.{flow.name.replace('.', '-').replace('_', '-')}.example.com/metadata"


def create(flow, name="one", label=None, record=True, **fields):
    body = {"type": "saml", "metadata_xml": metadata(entity(flow, name)), **fields}
    return flow.post(PROVIDERS, {k: v for k, v in body.items() if v is not None}, token=flow.service_role, label=label, record=record)


@scenario("sso_admin")
def a_provider_is_made_read_changed_and_taken_away(flow):
    flow.get(PROVIDERS, token=flow.service_role, label="none yet")
    made = create(flow, domains=["one.example.com", "uno.example.com"], name_id_format=EMAIL, resource_id="acme",
                  attribute_mapping={"keys": {"name": {"name": "displayName"}}})
    one = f"{PROVIDERS}/{made['id']}"
    flow.get(PROVIDERS, token=flow.service_role)
    flow.get(one, token=flow.service_role)
    flow.get(f"{PROVIDERS}/resource_acme", token=flow.service_role, label="by its resource id")
    flow.put(one, {"domains": ["one.example.com", "eins.example.com"], "disabled": True}, token=flow.service_role, label="other domains, switched off")
    flow.put(one, {"attribute_mapping": {"keys": {"email": {"names": ["mail", "email"], "default": "none", "array": True}}}, "resource_id": ""},
             token=flow.service_role, label="another mapping, no resource id")
    flow.put(one, {}, token=flow.service_role, label="nothing")
    flow.put(one, {"domains": [], "disabled": False}, token=flow.service_role, label="no domains, switched on")
    flow.delete(one, token=flow.service_role)
    flow.get(one, token=flow.service_role, label="gone")


@scenario("saml")
def what_a_provider_needs(flow):
    create(flow, label="no type", type=None)
    create(flow, label="another type", type="oidc")
    create(flow, label="no metadata", metadata_xml=None)
    create(flow, label="metadata twice", metadata_url="https://idp.example.com/metadata")
    create(flow, label="address of metadata not HTTPS", metadata_xml=None, metadata_url="http://idp.example.com/metadata")
    create(flow, label="address of metadata no URL", metadata_xml=None, metadata_url="idp.example.com")
    create(flow, label="unknown name id format", name_id_format="email")
    create(flow, label="not XML", metadata_xml="hello")
    create(flow, label="other XML", metadata_xml="<hello/>")
    create(flow, label="no entity id", metadata_xml=metadata(""))
    create(flow, label="nobody to sign in with", metadata_xml=metadata(entity(flow), descriptors=0))
    create(flow, label="two identity providers", metadata_xml=metadata(entity(flow), descriptors=2))
    flow.post(PROVIDERS, raw="{", token=flow.service_role, label="malformed JSON")


@scenario("saml")
def entities_and_domains_are_taken_once(flow):
    first = create(flow, domains=["taken.example.com"], record=False)
    create(flow, label="the same entity")
    create(flow, "two", "a taken domain", domains=["free.example.com", "taken.example.com"])
    second = create(flow, "two", domains=["free.example.com"])
    flow.put(f"{PROVIDERS}/{second['id']}", {"domains": ["taken.example.com"]}, token=flow.service_role, label="moving to a taken domain")
    flow.put(f"{PROVIDERS}/{second['id']}", {"metadata_xml": metadata(entity(flow))}, token=flow.service_role, label="metadata of another entity")
    flow.delete(f"{PROVIDERS}/{first['id']}", token=flow.service_role, record=False)
    flow.put(f"{PROVIDERS}/{second['id']}", {"domains": ["taken.example.com"]}, token=flow.service_role, label="the domain is free again")


@scenario("saml")
def only_administrators(flow):
    ann = flow.new_user()
    flow.get(PROVIDERS, label="nobody")
    flow.get(PROVIDERS, token=ann["token"], label="a person")
    flow.post(PROVIDERS, {"type": "saml"}, token=ann["token"], label="a person creates")
    flow.get(f"{PROVIDERS}/acme", token=flow.service_role, label="not a UUID")
    flow.get(f"{PROVIDERS}/7c1d9f64-9d3c-4f0e-8a5f-0d1b2c3d4e5f", token=flow.service_role, label="unknown")
    flow.put(f"{PROVIDERS}/resource_nobody", {}, token=flow.service_role, label="unknown resource id")
    flow.delete(f"{PROVIDERS}/acme", token=flow.service_role, label="deleting what is not there")


@scenario()
def providers_can_be_managed_while_saml_is_off(flow):
    made = create(flow)
    flow.get(f"{PROVIDERS}/{made['id']}", token=flow.service_role)


@scenario("internet")
def metadata_may_be_fetched(flow):
    """Metadata by URL, reached through the proxy (harness/internet)."""
    address = "https://one.idp.example.com/metadata.xml"
    pages = {"body": b"", "status": 404}
    flow.provider.on(address, lambda call: (pages["status"], {"Content-Type": "application/xml"}, pages["body"]))
    create(flow, label="not found", metadata_xml=None, metadata_url=address)
    pages.update(body=b"<html>", status=200)
    create(flow, label="not metadata", metadata_xml=None, metadata_url=address)
    pages.update(body=metadata(entity(flow)).encode())
    made = create(flow, metadata_xml=None, metadata_url=address)
    flow.note("asked with", [call["headers"].get("accept") for call in flow.provider.calls][-1])
    pages.update(body=metadata(entity(flow), sign_on="https://idp.example.com/new-sso").encode())
    flow.put(f"{PROVIDERS}/{made['id']}", {"metadata_url": address}, token=flow.service_role, label="fetched anew")
