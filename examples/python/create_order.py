"""Creates an order through Countersign, COUNT times over one connection. Prints the status and the outcome of each."""

import os

import requests

base_url = os.environ.get("BASE_URL", "http://127.0.0.1:7411")

# A session keeps its connection. It repeats no POST: do not mount an adapter whose Retry allows POST.
with requests.Session() as session:
    for _ in range(int(os.environ.get("COUNT", "1"))):
        answer = session.post(
            f"{base_url}/create_order",
            json={"order_amount": 10, "order_currency": "EUR"},
            timeout=25,  # longer than Countersign's own 20 s, so that Countersign says how it ended
        )
        # "unknown": the order may exist. Look for it before you send it again.
        print(answer.status_code, answer.headers.get("Countersign-Outcome"))
