import requests
from order import order, tell, url

session = requests.Session()
tell(lambda header: session.post(url, json=order, headers=header).status_code)
