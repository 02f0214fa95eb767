"""A SAML identity provider in plain Python: metadata, and signed responses to the authentication requests it is sent.

What it emits is canonical XML already (every element opens and closes, attributes sorted, namespaces declared where the
signature starts), so signing needs no canonicalisation.
"""

import base64
import hashlib
import time
import urllib.parse
import xml.etree.ElementTree as ET
import zlib
from xml.sax.saxutils import escape

from . import jws

# A test key and its self-signed certificate.
MODULUS = (
    "dfa8feba07bad25457a65fbdcaca8e7c449222c986b4b1a853269ca38fd6d365c34d9131a2a7256eb61df4f1c85c5ef26f32e892068b3d"
    "10d04382e4356dfacfe813a733b91d67121c41c118e39c2db0eb605fbf509aa20f92db1d494b3dde83ffa67655dc75175fdbd4ce631118"
    "5d04d96142bf59d2f4cbce6c65be921b6aa27fb7a7ed12e943dbe5221b9ef30c0475f379aaebcbe10f4ce079c436db5cb7784483ca1d56"
    "3bfa40911613b3539fa872ddeaab5edf22a3c3e7d5f56d1ae94beace18a740cd5b3f9a0c37c403bf761abdff7269759db09e365550d9d5"
    "644663f46f524d876cc5d4722f42888dee1acac9c6d2eaf0b52afd268418a4630781c07b"
)
PRIVATE = (
    "5c9190d00507fd2a7c567754d19c71499c85d151106834098354bd4af2eb0a7699553ecd48d11e2c8ac2ae50edc8d1614cc5c8bd3b6920"
    "9e975c01ce1b1108584968ecf07ae2e0f87d6a7795aa0ac75c6ca6e82a021de60a45115c372c2590b5983758cde39f30cbf36bc9f9f5a6"
    "dc44f80589bf31d99e88c5c85679fff5c9f56e714fd6431ff937441fc1fa14bc3953cf022faab1e2d3ca325c37234c00f11a8e1220596a"
    "0a469a101bffeb2797fb4b1e646a345e35928e8c74eeda91a51d6c4c6a0fc710a8492cd7d00b54e96ea198c4949ac60a1b07d1b8beb6c7"
    "d415574cb94bed4d41da4c46f5cc3638e24578efc6c7c6fd83cdefd7fc7d5ce21cbe2dfd"
)
CERTIFICATE = (
    "MIICwTCCAamgAwIBAgIBATANBgkqhkiG9w0BAQsFADAjMSEwHwYDVQQDDBhyZXBsYXkgaWRlbnRpdHkgcHJvdmlkZXIwIBcNMjAwMTAxMDAwMD"
    "AwWhgPMjEyMDAxMDEwMDAwMDBaMCMxITAfBgNVBAMMGHJlcGxheSBpZGVudGl0eSBwcm92aWRlcjCCASIwDQYJKoZIhvcNAQEBBQADggEPADCC"
    "AQoCggEBAN+o/roHutJUV6ZfvcrKjnxEkiLJhrSxqFMmnKOP1tNlw02RMaKnJW62HfTxyFxe8m8y6JIGiz0Q0EOC5DVt+s/oE6czuR1nEhxBwR"
    "jjnC2w62Bfv1Caog+S2x1JSz3eg/+mdlXcdRdf29TOYxEYXQTZYUK/WdL0y85sZb6SG2qif7en7RLpQ9vlIhue8wwEdfN5quvL4Q9M4HnENttc"
    "t3hEg8odVjv6QJEWE7NTn6hy3eqrXt8io8Pn1fVtGulL6s4Yp0DNWz+aDDfEA792Gr3/cml1nbCeNlVQ2dVkRmP0b1JNh2zF1HIvQoiN7hrKyc"
    "bS6vC1Kv0mhBikYweBwHsCAwEAATANBgkqhkiG9w0BAQsFAAOCAQEAT+uSXHwY0te35o7Kds6K0KnDpeHnCcJPOzPV96/8Qb/C7hHY1tzjd5go"
    "hS7xWzQmuzt9riiaqATsIzTUIuRay4Sc5eC5Zhv4oD0Fj0FsvamfYM04uiBTgPhMF7uBLzkMDtkZ1W4YUy1wF0D8mH5sMt7mGmnn4N2bvqEcbP"
    "pA24ban3Ojdz1uW5Qa9c1cmIimd3SOE/m2BFB9LE18Cesr4WWyt+4PiI+QEwL3b8zkdtBnkNgsuq+PClz4B0OlEH1TqTFfNcpgqtuUYOCUcsjK"
    "EgNV9f1Nuc8k0l5pN6yr3bK4Cp4YOdE8huLKCN1a5eU/hai9UknKXdO5omrkiNgDGQ=="
)

PROTOCOL = "urn:oasis:names:tc:SAML:2.0:protocol"
ASSERTION = "urn:oasis:names:tc:SAML:2.0:assertion"
DSIG = "http://www.w3.org/2000/09/xmldsig#"
C14N = "http://www.w3.org/2001/10/xml-exc-c14n#"
PERSISTENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent"
TRANSIENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient"
EMAIL = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress"


def number(hexadecimal):
    value = int(hexadecimal, 16)
    return jws.encode(value.to_bytes((value.bit_length() + 7) // 8, "big"))


KEY = {"kty": "RSA", "n": number(MODULUS), "d": number(PRIVATE)}


def at(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))


def metadata(entity="https://idp.example.com/metadata", sign_on="https://idp.example.com/sso", descriptors=1, extra=""):
    key = f'<KeyDescriptor use="signing"><KeyInfo xmlns="{DSIG}"><X509Data><X509Certificate>{CERTIFICATE}</X509Certificate></X509Data></KeyInfo></KeyDescriptor>'
    service = f'<SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="{sign_on}"></SingleSignOnService>'
    descriptor = f'<IDPSSODescriptor protocolSupportEnumeration="{PROTOCOL}">{key}{service}</IDPSSODescriptor>'
    return f'<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="{entity}"{extra}>{descriptor * descriptors}</EntityDescriptor>'


class Request:
    """An authentication request as it stands in the redirect to the identity provider."""

    def __init__(self, url):
        self.query = urllib.parse.urlsplit(url).query
        query = dict(urllib.parse.parse_qsl(self.query))
        self.relay_state, self.algorithm = query["RelayState"], query.get("SigAlg")
        self.xml = zlib.decompress(base64.b64decode(query["SAMLRequest"]), -15).decode()
        root = ET.fromstring(self.xml)
        self.id = root.get("ID")
        policy = root.find(f"{{{PROTOCOL}}}NameIDPolicy")
        self.facts = {
            "acs": root.get("AssertionConsumerServiceURL"), "destination": root.get("Destination"), "binding": root.get("ProtocolBinding"),
            "issuer": root.find(f"{{{ASSERTION}}}Issuer").text, "policy": dict(policy.attrib) if policy is not None else None,
            "force authn": root.get("ForceAuthn"), "signed with": self.algorithm, "signature": "Signature" in query,
        }

    def signed_by(self, private_key):
        """Whether the redirect is signed with this 2048 bit key (base64 of PKCS#1), RSA and SHA-1 or SHA-256."""
        modulus = int.from_bytes(base64.b64decode(private_key)[12:268], "big")
        text, _, signature = self.query.partition("&Signature=")
        block = pow(int.from_bytes(base64.b64decode(urllib.parse.unquote(signature)), "big"), 65537, modulus).to_bytes(256, "big")
        return block.endswith(hashlib.new(self.algorithm.rpartition("-")[2], text.encode()).digest())


class IdentityProvider:
    """Signs assertions for the service provider at `base`."""

    def __init__(self, base, entity="https://idp.example.com/metadata"):
        self.entity, self.acs, self.audience = entity, f"{base}/sso/saml/acs", f"{base}/sso/saml/metadata"

    def response(self, name_id, attributes=None, in_response_to=None, *, name_format=PERSISTENT, session_ends=None, issued=0, starts=-60, ends=300,
                 audience=None, destination=None, recipient=None, status="Success", sign="assertion", tamper=None, beside="", response_issuer=None, serial="1"):
        """A base64 SAMLResponse. `attributes`: name -> text or list of texts; `sign`: assertion, response, both or ""."""
        to = f' InResponseTo="{in_response_to}"' if in_response_to else ""
        statements = "".join(
            f'<saml:Attribute Name="{escape(name)}">' + "".join(f"<saml:AttributeValue>{escape(v)}</saml:AttributeValue>" for v in list_users(value)) + "</saml:Attribute>"
            for name, value in (attributes or {}).items())
        session = f' SessionNotOnOrAfter="{at(session_ends)}"' if session_ends is not None else ""
        head = f'<saml:Assertion xmlns:saml="{ASSERTION}" ID="assertion-{serial}" IssueInstant="{at(issued)}" Version="2.0"><saml:Issuer>{self.entity}</saml:Issuer>'
        tail = (
            f'<saml:Subject><saml:NameID Format="{name_format}">{escape(name_id)}</saml:NameID>'
            f'<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer">'
            f'<saml:SubjectConfirmationData{to} NotOnOrAfter="{at(ends)}" Recipient="{recipient or self.acs}"></saml:SubjectConfirmationData>'
            f'</saml:SubjectConfirmation></saml:Subject>'
            f'<saml:Conditions NotBefore="{at(starts)}" NotOnOrAfter="{at(ends)}"><saml:AudienceRestriction>'
            f'<saml:Audience>{audience or self.audience}</saml:Audience></saml:AudienceRestriction></saml:Conditions>'
            f'<saml:AuthnStatement AuthnInstant="{at(issued)}"{session}><saml:AuthnContext><saml:AuthnContextClassRef>'
            f'urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>'
            + (f"<saml:AttributeStatement>{statements}</saml:AttributeStatement>" if statements else "") + "</saml:Assertion>")
        signature = signed(head + tail, f"assertion-{serial}") if sign in ("assertion", "both") else ""
        assertion = head + signature + (tamper(tail) if tamper else tail)
        head = (
            f'<samlp:Response xmlns:samlp="{PROTOCOL}" Destination="{destination or self.acs}" ID="response-{serial}"{to} IssueInstant="{at(issued)}" Version="2.0">'
            f'<saml:Issuer xmlns:saml="{ASSERTION}">{response_issuer or self.entity}</saml:Issuer>')
        tail = (
            f'<samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:{status}"></samlp:StatusCode></samlp:Status>'
            f"{beside}{assertion}</samlp:Response>")
        signature = signed(head + tail, f"response-{serial}") if sign in ("response", "both") else ""
        response = head + signature + tail
        return base64.b64encode(response.encode()).decode()


def list_users(value):
    return value if isinstance(value, list) else [value]


def signed(xml, reference):
    """An enveloped XML signature (RSA and SHA-256, exclusive canonical XML) over `xml`."""
    digest = base64.b64encode(hashlib.sha256(xml.encode()).digest()).decode()
    info = (
        f'<ds:SignedInfo xmlns:ds="{DSIG}"><ds:CanonicalizationMethod Algorithm="{C14N}"></ds:CanonicalizationMethod>'
        f'<ds:SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"></ds:SignatureMethod>'
        f'<ds:Reference URI="#{reference}"><ds:Transforms><ds:Transform Algorithm="{DSIG}enveloped-signature"></ds:Transform>'
        f'<ds:Transform Algorithm="{C14N}"></ds:Transform></ds:Transforms>'
        f'<ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"></ds:DigestMethod><ds:DigestValue>{digest}</ds:DigestValue>'
        f'</ds:Reference></ds:SignedInfo>')
    value = base64.b64encode(jws.signature(info.encode(), KEY)).decode()
    # The signature covers the element with its own namespace declaration; inside ds:Signature it is inherited.
    info = info.replace(f' xmlns:ds="{DSIG}"', "", 1)
    return (f'<ds:Signature xmlns:ds="{DSIG}">{info}<ds:SignatureValue>{value}</ds:SignatureValue>'
            f"<ds:KeyInfo><ds:X509Data><ds:X509Certificate>{CERTIFICATE}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></ds:Signature>")
