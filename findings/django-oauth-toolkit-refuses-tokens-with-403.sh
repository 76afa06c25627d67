#!/usr/bin/env bash
# django-oauth-toolkit 3.4.1: its ProtectedResourceView refuses a token that it does not know with 403, and gives no challenge.
# Guess: 401 with WWW-Authenticate and `invalid_token` (RFC 6750 section 3.1), at which clients get a new token.
# Found: 403 with an empty body. A client that replaces tokens after a 401 goes on with the old one until its own clock says it ends.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check django-oauth-toolkit==3.4.1 Django==5.2.19

cat >try.py <<'END'
import django
from django.conf import settings
from django.core.management import call_command
from django.http import HttpResponse
from django.test import Client
from django.urls import path

settings.configure(
    SECRET_KEY="only here",
    ALLOWED_HOSTS=["testserver"],
    ROOT_URLCONF=__name__,
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "oauth2_provider"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
)
django.setup()
from oauth2_provider.views import ProtectedResourceView


class Orders(ProtectedResourceView):
    def get(self, request):
        return HttpResponse("orders")


urlpatterns = [path("orders", Orders.as_view())]
call_command("migrate", verbosity=0)
answer = Client().get("/orders", headers={"authorization": "Bearer of-yesterday"})
print(answer.status_code, answer.headers.get("WWW-Authenticate"), answer.content)
END

diff - <(venv/bin/python try.py 2>/dev/null) <<'END'
403 None b''
END
