"""Creates orders through Countersign with requests: COUNT of them, over one connection."""

import os
import sys

import requests

# With HTTP_PROXY set, set NO_PROXY=127.0.0.1 too: requests uses the proxy for loopback addresses as well.
base_url = os.environ.get("BASE_URL", "http://127.0.0.1:7411")
count = int(os.environ.get("COUNT", "1"))

# A session keeps its connection. It repeats no POST: mount no adapter whose Retry allows POST.
with requests.Session() as session:
    for number in range(1, count + 1):
        reference = f"order-{number}"  # your own key for the order, by which you find it again
        try:
            answer = session.post(
                f"{base_url}/create_order",
                json={"order_amount": 10, "order_currency": "EUR"},
                headers={"Countersign-Reference": reference},
                timeout=25,  # longer than Countersign's own 20 s, so that Countersign says how it ended
                allow_redirects=False,  # a redirect would send the order again
            )
            outcome = answer.headers.get("Countersign-Outcome")
            print(answer.status_code, outcome)
        except requests.RequestException as error:
            outcome = None
            print(f"{reference}: no answer: {error}", file=sys.stderr)
        if outcome == "not_sent":
            print(f"{reference} was not sent: it may be sent again", file=sys.stderr)
            sys.exit(75)
        if outcome != "answered":
            sys.exit(f"{reference} may exist: look for it before you send it again")
