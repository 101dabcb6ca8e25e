"""Certificates by which host and plugin prove each other who they are (go-plugin's AutoMTLS), where the host asks for them."""

from __future__ import annotations

import base64
import os
from datetime import datetime, timedelta, timezone
from typing import Any

import grpc

from .errors import INVALID_CONFIG, PluginError

CLIENT = "PLUGIN_CLIENT_CERT"  # the host's certificate, PEM
_NAME = "localhost"


class Certificates:
    """A pair of certificate and key of this process, and the host's certificate, the only one that is believed."""

    def __init__(self, host: bytes) -> None:
        self._host = host
        self._key, self._certificate, der = _make()
        self.handshake = base64.b64encode(der).decode().rstrip("=")  # as the handshake tells it

    def server(self) -> Any:
        """Credentials of the plugin's server."""
        return grpc.ssl_server_credentials([(self._key, self._certificate)], self._host, require_client_auth=True)

    def channel(self, address: str, options: list[tuple[str, Any]]) -> grpc.Channel:
        """A channel to a connection that the host serves."""
        credentials = grpc.ssl_channel_credentials(self._host, self._key, self._certificate)
        return grpc.secure_channel(address, credentials, [*options, ("grpc.ssl_target_name_override", _NAME)])


def certificates() -> Certificates | None:
    """Those that the host asks for, or None where it asks for none."""
    host = os.environ.get(CLIENT)
    return Certificates(host.encode()) if host else None


def _make() -> tuple[bytes, bytes, bytes]:
    """A fresh key, PEM, and the certificate that it signs itself, PEM and DER."""
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError as e:
        raise PluginError(INVALID_CONFIG, f"the host asks for certificates (plugins.mtls), which need the package cryptography: {e}",
                          "pip install 'mdmhost-plugin[mtls]', or set plugins.mtls=false", "plugin") from None
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, _NAME), x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, "mdmhost plugin")])
    now = datetime.now(timezone.utc)
    usage = x509.KeyUsage(digital_signature=True, key_encipherment=True, key_agreement=True, key_cert_sign=True, content_commitment=False, data_encipherment=False,
                          crl_sign=False, encipher_only=False, decipher_only=False)
    roles = x509.ExtendedKeyUsage([x509.ExtendedKeyUsageOID.CLIENT_AUTH, x509.ExtendedKeyUsageOID.SERVER_AUTH])
    certificate = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(seconds=30)).not_valid_after(now + timedelta(days=3650))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True).add_extension(usage, critical=True)
        .add_extension(roles, critical=False).add_extension(x509.SubjectAlternativeName([x509.DNSName(_NAME)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return private, certificate.public_bytes(pem), certificate.public_bytes(serialization.Encoding.DER)
