#!/usr/bin/env bash
# Authlib 1.9.10: HTTP Basic is percent-decoded, but a `+` stays a plus.
# Guess: the parts are form-decoded (RFC 6749 section 2.3.1, appendix B), where `+` is a blank.
# Found: `%20` is read as a blank and `+` is not. A client whose encoder writes blanks as `+` is refused; `%20` works.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check Authlib==1.9.10

cat >try.py <<'END'
from base64 import b64encode
from authlib.oauth2.rfc6749.util import extract_basic_authorization

for pair in ("my%20client:my%20secret", "my+client:my+secret"):
    header = "Basic " + b64encode(pair.encode()).decode()
    print(pair, "is read as", ":".join(extract_basic_authorization({"Authorization": header})))
END

diff - <(venv/bin/python try.py) <<'END'
my%20client:my%20secret is read as my client:my secret
my+client:my+secret is read as my+client:my+secret
END
