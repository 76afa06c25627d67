import json
import httplib2
from order import order, tell, url

http = httplib2.Http()
json_type = {"Content-Type": "application/json"}
tell(lambda header: http.request(url, "POST", json.dumps(order), {**json_type, **header})[0].status)
