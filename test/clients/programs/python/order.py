"""What the programs beside this one share: they post each order of COUNT with a header of its own."""

import os
import sys

url = os.environ["BASE_URL"] + "/create_order"
order = {"order_amount": 10.10, "order_currency": "EUR"}
is_set = bool(os.environ["SET"])


def headers():
    for number in range(1, int(os.environ["COUNT"]) + 1):
        yield {os.environ["HEADER"]: f"order-{number}"}


def tell(post):
    """Posts each order, and prints its status."""
    for header in headers():
        try:
            print(post(header))
        except Exception as error:
            print("no answer")
            print(repr(error), file=sys.stderr)
