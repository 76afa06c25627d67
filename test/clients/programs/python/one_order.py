"""python3 order.py URL BODY: posts the body as JSON, prints status and answer. Honours http_proxy, as urllib does."""

import sys
import urllib.request

_, url, body = sys.argv
request = urllib.request.Request(url, body.encode(), {"Content-Type": "application/json"})
with urllib.request.urlopen(request) as response:
    print(response.status, response.read().decode())
