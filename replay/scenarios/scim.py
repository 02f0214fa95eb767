"""SCIM 2.0 discovery, the only part of SCIM in this version."""

from harness.registry import scenario


@scenario("scim")
def discovery_documents(flow):
    for name in ("ServiceProviderConfig", "ResourceTypes", "Schemas"):
        flow.get(f"/scim/v2/{name}")
    flow.get("/scim/v2/ResourceTypes?filter=name%20eq%20%22User%22", label="a filter")
    flow.get("/scim/v2/ServiceProviderConfig?filter=", label="a filter where none matters")


@scenario("scim")
def resources_are_not_there(flow):
    for path in ("/scim/v2/Users", "/scim/v2/Users/1", "/scim/v2/Groups", "/scim/v2/", "/scim/v2", "/scim/v2/Schemas/urn:ietf:params:scim:schemas:core:2.0:User"):
        flow.get(path)
    flow.post("/scim/v2/Users", {"userName": "ann"})
    flow.post("/scim/v2/Schemas", {}, label="wrong method")


@scenario()
def disabled_by_default(flow):
    flow.get("/scim/v2/ServiceProviderConfig")
    flow.get("/scim/v2/Users")
    flow.post("/scim/v2/Users", {}, token=flow.service_role)
