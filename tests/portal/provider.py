"""An OpenID provider over real HTTP with real signatures, which can be told to misbehave in every way."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from django.http import HttpResponse
from django.test import Client
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from portal.sign_in import provider as provider_module

CLIENT_ID, SECRET = "kaiku", "a client's secret"
KEYS = {
    "RS256": rsa.generate_private_key(public_exponent=65537, key_size=2048),
    "ES256": ec.generate_private_key(ec.SECP256R1()),
}
STRANGERS_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
Answer = tuple[int, bytes, str]


def public_keys() -> list[dict[str, Any]]:
    made = {"RS256": RSAAlgorithm, "ES256": ECAlgorithm}
    return [json.loads(made[name].to_jwk(key.public_key())) | {"kid": name, "use": "sig"} for name, key in KEYS.items()]


class FakeProvider(ThreadingHTTPServer):
    """What a test changes: `claims`, `userinfo`, `signed` (claims to token), `spoilt[path]`, `delay_s`, `metadata`.

    `raw[path]` writes a whole answer by itself, head and all. `calls` counts what was asked for.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self.server_port}"
        self.subject = "abc@myaccessid.org"
        self.claims: dict[str, Any] = {}
        self.userinfo: dict[str, Any] = {"email": "alice@example.org"}
        self.signed: Callable[[dict[str, Any]], object] = lambda claims: sign(claims)
        self.spoilt: dict[str, Answer] = {}
        self.raw: dict[str, Callable[[BaseHTTPRequestHandler], None]] = {}
        self.calls: Counter[str] = Counter()
        self.delay_s: dict[str, float] = {}
        self.released = threading.Event()
        self.metadata: dict[str, Any] = {}
        self.asked: dict[str, str] = {}
        self.secrets_in_body: list[str] = []
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Quiet about the portal hanging up on a slow answer."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def __exit__(self, *error: object) -> None:
        self.released.set()
        self.shutdown()
        super().__exit__(*error)

    def discovery(self) -> dict[str, Any]:
        paths = {"authorization_endpoint": "authorize", "token_endpoint": "token", "userinfo_endpoint": "userinfo"}
        paths |= {"jwks_uri": "jwks", "end_session_endpoint": "end_session"}
        return {
            "issuer": self.issuer,
            **{name: f"{self.issuer}/{path}" for name, path in paths.items()},
            **self.metadata,
        }

    def id_claims(self) -> dict[str, Any]:
        now = int(time.time())
        usual = {"iss": self.issuer, "aud": CLIENT_ID, "sub": self.subject, "iat": now, "exp": now + 300}
        found = usual | {"nonce": self.asked["nonce"]} | self.claims
        return {name: value for name, value in found.items() if value is not None}

    def logout_token(self, **changes: Any) -> str:
        """A good logout token of alice's, but for these changes; None leaves a claim out."""
        now = int(time.time())
        usual = {"iss": self.issuer, "aud": CLIENT_ID, "sub": self.subject, "iat": now, "exp": now + 120}
        usual |= {"jti": secrets.token_hex(8), "events": {LOGOUT_EVENT: {}}}
        return sign({name: value for name, value in (usual | changes).items() if value is not None}, typ="logout+jwt")


def sign(claims: dict[str, Any], algorithm: str = "RS256", key: object = None, **header: Any) -> str:
    return jwt.encode(claims, key or KEYS[algorithm], algorithm=algorithm, headers={"kid": algorithm} | header)


class Handler(BaseHTTPRequestHandler):
    server: FakeProvider

    def do_GET(self) -> None:
        paths = {
            "/.well-known/openid-configuration": self.server.discovery,
            "/jwks": lambda: {"keys": public_keys()},
            "/userinfo": lambda: {"sub": self.server.subject} | self.server.userinfo,
        }
        self.reply(paths[urlsplit(self.path).path])

    def do_POST(self) -> None:
        form = {
            name: each
            for name, (each,) in parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode()).items()
        }
        self.server.secrets_in_body.append(form.get("client_secret", ""))
        basic = "Basic " + base64.b64encode(f"{CLIENT_ID}:{SECRET}".encode()).decode()
        assert basic == self.headers["Authorization"] or form["client_secret"] == SECRET
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).rstrip(b"=")
        assert challenge.decode() == self.server.asked["code_challenge"]
        token = self.server.signed
        self.reply(
            lambda: {"access_token": "access", "id_token": token(self.server.id_claims()), "token_type": "Bearer"}
        )

    def reply(self, usual: Callable[[], object]) -> None:
        path = urlsplit(self.path).path
        self.server.calls[path] += 1
        if path in self.server.raw:
            self.server.raw[path](self)
            return
        self.server.released.wait(self.server.delay_s.get(path, 0))
        status, body, kind = self.server.spoilt.get(path) or (200, json.dumps(usual()).encode(), "application/json")
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def forget_answers() -> None:
    """What providers of other tests said is not known here."""
    provider_module._discovered.known.clear()
    provider_module._keys.known.clear()


def started(provider: FakeProvider, client: Client, query: str = "") -> str:
    """Begin a sign-in in this browser; the state that the provider will give back."""
    url = client.get(f"/sign-in/start/{query}")["Location"]
    provider.asked = {name: each for name, (each,) in parse_qs(urlsplit(url).query).items()}
    return provider.asked["state"]


def signed_in(provider: FakeProvider, client: Client, query: str = "") -> HttpResponse:
    """Go to the provider and come back with its code; the answer of the callback."""
    state = started(provider, client, query)
    return client.get("/sign-in/callback/", {"code": "a code", "state": state})
