"""Authlib with Flask: python authlib.py PORT LIFE_SECONDS, with both installed in PYTHONPATH."""

import os
import sys
import time

sys.path.pop(0)  # This file has the library's name.
from authlib.integrations.flask_oauth2 import AuthorizationServer, ResourceProtector
from authlib.oauth2.rfc6749 import ClientMixin, TokenMixin, grants
from authlib.oauth2.rfc6750 import BearerTokenValidator
from flask import Flask

port, life_seconds = map(int, sys.argv[1:])
tokens = {}


class Client(ClientMixin):
    def check_client_secret(self, secret):
        return secret == os.environ["SECRET"]

    def check_endpoint_auth_method(self, method, endpoint):
        return method == "client_secret_basic"

    def check_grant_type(self, grant_type):
        return grant_type == "client_credentials"

    def get_allowed_scope(self, scope):
        return scope


class Token(TokenMixin):
    def __init__(self, expires_in):
        self.ends = time.time() + expires_in

    def is_expired(self):
        return time.time() >= self.ends

    def is_revoked(self):
        return False

    def get_scope(self):
        return ""


class ByMemory(BearerTokenValidator):
    def authenticate_token(self, text):
        return tokens.get(text)


def save(token, request):
    tokens[token["access_token"]] = Token(token["expires_in"])


app = Flask(__name__)
app.config["OAUTH2_TOKEN_EXPIRES_IN"] = {"client_credentials": life_seconds}
server = AuthorizationServer(app, query_client=lambda id: Client() if id == "countersign" else None, save_token=save)
server.register_grant(grants.ClientCredentialsGrant)
guard = ResourceProtector()
guard.register_token_validator(ByMemory())
os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "true"

app.post("/token")(server.create_token_response)
app.add_url_rule("/issued", "issued", lambda: {"issued": len(tokens)})
app.add_url_rule("/guard", "guard", guard()(lambda: {}))
app.run("127.0.0.1", port)
