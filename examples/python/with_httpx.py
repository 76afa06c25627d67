"""Creates orders through Countersign with httpx: COUNT of them, over one connection."""

import os
import sys

import httpx

# With HTTP_PROXY set, set NO_PROXY=127.0.0.1 too: httpx uses the proxy for loopback addresses as well.
base_url = os.environ.get("BASE_URL", "http://127.0.0.1:7411")
count = int(os.environ.get("COUNT", "1"))

# A client keeps its connection, and follows no redirect. It repeats no POST: `retries` of a transport is for connecting
# only. The timeout is longer than Countersign's own 20 s, so that Countersign says how it ended.
with httpx.Client(base_url=base_url, timeout=25, follow_redirects=False) as client:
    for number in range(1, count + 1):
        reference = f"order-{number}"  # your own key for the order, by which you find it again
        try:
            answer = client.post(
                "/create_order",
                json={"order_amount": 10, "order_currency": "EUR"},
                headers={"Countersign-Reference": reference},
            )
            outcome = answer.headers.get("Countersign-Outcome")
            print(answer.status_code, outcome)
        except httpx.HTTPError as error:
            outcome = None
            print(f"{reference}: no answer: {error}", file=sys.stderr)
        if outcome == "not_sent":
            print(f"{reference} was not sent: it may be sent again", file=sys.stderr)
            sys.exit(75)
        if outcome != "answered":
            sys.exit(f"{reference} may exist: look for it before you send it again")
