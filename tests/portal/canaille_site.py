"""Canaille, a real OpenID provider, with two people and this portal as its client: `… PORT PORTAL_URL`."""

from __future__ import annotations

import sys

from canaille import create_app
from canaille.app import models
from canaille.backends import Backend
from joserfc.jwk import ECKey, RSAKey
from werkzeug.serving import make_server

CLIENT_ID, SECRET, PASSWORD = "kaiku", "a client's secret", "a person's long password"


def configuration(port: int) -> dict[str, object]:
    keys = (RSAKey.generate_key(2048, auto_kid=True), ECKey.generate_key("P-256", auto_kid=True))
    return {
        "SECRET_KEY": "only for tests",
        "SERVER_NAME": f"127.0.0.1:{port}",
        "PREFERRED_URL_SCHEME": "http",
        "CANAILLE": {"DATABASE": "memory", "ENABLE_INTRUDER_LOCKOUT": False},
        "CANAILLE_OIDC": {
            "ACTIVE_JWKS": [key.as_dict(private=True) for key in keys],
            "USERINFO_MAPPING": {"SUB": "{{ user.user_name }}@myaccessid.org"},
        },
    }


def people_and_client(portal: str) -> list[object]:
    people = [
        models.User(
            user_name=name,
            formatted_name=name.title(),
            family_name=name.title(),
            emails=[f"{name}@example.org"],
            password=PASSWORD,
        )
        for name in ("alice", "frank")
    ]
    client = models.Client(
        client_id=CLIENT_ID,
        client_secret=SECRET,
        client_name="Kaiku",
        client_uri=portal,
        redirect_uris=[f"{portal}/sign-in/callback/"],
        post_logout_redirect_uris=[f"{portal}/sign-in/"],
        grant_types=["authorization_code"],
        response_types=["code"],
        scope=["openid", "email"],
        token_endpoint_auth_method="client_secret_basic",
        id_token_signed_response_alg="RS256",
    )
    return [*people, client]


def main(port: int, portal: str) -> None:
    app = create_app(config=configuration(port))
    with app.app_context():
        for row in people_and_client(portal):
            Backend.instance.save(row)
        row.audience = [row]  # a client can name itself only once it is saved
        Backend.instance.save(row)
    make_server("127.0.0.1", port, app, threaded=True).serve_forever()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
