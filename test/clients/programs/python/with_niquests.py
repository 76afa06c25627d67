import niquests
from order import is_set, order, tell, url

session = niquests.Session()
options = dict(allow_redirects=False) if is_set else {}
tell(lambda header: session.post(url, json=order, headers=header, **options).status_code)
