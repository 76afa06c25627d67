"""django-oauth-toolkit, with a database in memory: python django-oauth-toolkit.py PORT LIFE_SECONDS."""

import os
import sys

import django
from django.conf import settings
from django.core.management import call_command
from django.http import HttpResponse, JsonResponse
from django.urls import include, path

port, life_seconds = map(int, sys.argv[1:])
settings.configure(
    SECRET_KEY="only for tests",
    ALLOWED_HOSTS=["127.0.0.1"],
    ROOT_URLCONF=__name__,
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "oauth2_provider"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "file:tokens?mode=memory&cache=shared"}},
    OAUTH2_PROVIDER={"ACCESS_TOKEN_EXPIRE_SECONDS": life_seconds, "SCOPES": {"orders": "Create orders"}},
)
django.setup()

from oauth2_provider.models import AccessToken, Application
from oauth2_provider.views import ProtectedResourceView


class Guard(ProtectedResourceView):
    def get(self, request):
        return HttpResponse()


urlpatterns = [
    path("o/", include("oauth2_provider.urls", namespace="oauth2_provider")),
    path("issued", lambda request: JsonResponse({"issued": AccessToken.objects.count()})),
    path("guard", Guard.as_view()),
]

call_command("migrate", verbosity=0)
Application.objects.create(
    client_id="countersign",
    client_secret=os.environ["SECRET"],
    client_type="confidential",
    authorization_grant_type="client-credentials",
)
call_command("runserver", f"127.0.0.1:{port}", use_reloader=False)
