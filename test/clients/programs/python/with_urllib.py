import json
import urllib.error
import urllib.request
from order import order, tell, url


def post(header):
    request = urllib.request.Request(url, json.dumps(order).encode(), {"Content-Type": "application/json", **header})
    try:
        with urllib.request.urlopen(request) as answer:
            answer.read()
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


tell(post)
