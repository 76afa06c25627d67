import urllib3
from order import is_set, order, tell, url

pool = urllib3.PoolManager()
options = dict(redirect=False) if is_set else {}
tell(lambda header: pool.request("POST", url, json=order, headers=header, **options).status)
