import json
import pycurl
from order import is_set, order, tell, url

curl = pycurl.Curl()
curl.setopt(pycurl.URL, url)
curl.setopt(pycurl.WRITEFUNCTION, lambda _: None)
curl.setopt(pycurl.POSTFIELDS, json.dumps(order))
if is_set:
    curl.setopt(pycurl.FORBID_REUSE, 1)


def post(header):
    lines = [f"{name}: {value}" for name, value in header.items()]
    curl.setopt(pycurl.HTTPHEADER, ["Content-Type: application/json", *lines])
    curl.perform()
    return curl.getinfo(pycurl.RESPONSE_CODE)


tell(post)
