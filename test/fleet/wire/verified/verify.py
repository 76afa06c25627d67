"""python3 verify.py < RECORDS: checks captured requests against their callers' bodies. Standard library only.

Written from the specification and the product's description alone; it shares nothing with Countersign. Each record is
a length in four bytes, big endian, and so many bytes. The first record is a JSON object: keys (identifier to secret),
version, path. Then each request has three records: the identifier in it, the caller's body, and the request's
bytes. Prints one JSON object: {"checked": N, "mismatches": M, "examples": [...]}.
"""

import hashlib
import hmac
import json
import re
import struct
import sys
import time
from decimal import Decimal

EXEMPT = {"format", "signature", "call"}
OWNED = {"version", "site_identifier", "timestamp", "signature"}
SKEW_SECONDS = 600


class Mismatch(Exception):
    """A fault of a request."""


class Number(str):
    """A JSON number exactly as it is written."""


def read_record(stream):
    head = stream.read(4)
    if not head:
        return None
    (length,) = struct.unpack(">I", head)
    record = stream.read(length)
    if len(head) < 4 or len(record) < length:
        raise EOFError("a record is cut short")
    return record


def refuse_constant(name):
    raise Mismatch(f"{name} is no JSON")


def read_members(body):
    """Name and value, in the order of the text; numbers exactly as written."""
    try:
        pairs = json.loads(
            body.decode("utf-8"),
            parse_int=Number,
            parse_float=Number,
            parse_constant=refuse_constant,
            object_pairs_hook=list,
        )
    except ValueError as error:
        raise Mismatch(f"no JSON in UTF-8: {type(error).__name__}") from None
    if not isinstance(pairs, list) or not all(isinstance(pair, tuple) for pair in pairs):
        raise Mismatch("no JSON object")
    return pairs


def split_request(wire, path):
    """The body, if the head frames it and is that of a plain POST."""
    head, gap, body = wire.partition(b"\r\n\r\n")
    line, *fields = head.decode("ascii").split("\r\n")
    if not gap or line != f"POST {path} HTTP/1.1":
        raise Mismatch("not a POST to the operation")
    headers = {}
    for field in fields:
        name, colon, value = field.partition(":")
        if not colon or name != name.strip() or name.lower() in headers:
            raise Mismatch("a header line is malformed or given twice")
        headers[name.lower()] = value.strip()
    if headers.get("content-length") != str(len(body)):
        raise Mismatch("Content-Length is not the body's")
    if "transfer-encoding" in headers or "content-encoding" in headers or "authorization" in headers:
        raise Mismatch("a header that must not be there")
    if headers.get("content-type") != "application/json" or "host" not in headers:
        raise Mismatch("Content-Type or Host is wrong")
    return body


def write_amount(text):
    whole, _, fraction = text.partition(".")
    if fraction[2:].strip("0"):
        raise Mismatch("the caller's amount should have been refused")
    return f"{whole}.{fraction[:2].ljust(2, '0')}"


def write_number(text):
    number = Decimal(text)
    if number.is_zero():
        places = max(0, -number.as_tuple().exponent)
        return "0" if places == 0 else "0." + "0" * places
    return format(number, "f")


def write_value(name, value):
    """The text as which the caller's value must arrive."""
    if value is True or value is False:
        text = "true" if value else "false"
    elif isinstance(value, Number):
        text = write_number(value)
    else:
        text = value
    return write_amount(text) if name.endswith("_amount") else text


def sign(members, secret):
    signed = sorted((name.encode("utf-8"), value.encode("utf-8")) for name, value in members if name not in EXEMPT)
    return hmac.new(secret.encode("utf-8"), b"".join(name + value for name, value in signed), hashlib.sha256).hexdigest()


def check(rules, identifier, given, wire):
    members = read_members(split_request(wire, rules["path"]))
    sent = dict(members)
    if len(sent) != len(members):
        raise Mismatch("a name is sent twice")
    if not all(type(value) is str for value in sent.values()):
        raise Mismatch("a value is no string")
    if not OWNED <= sent.keys():
        raise Mismatch("a required parameter is missing")
    if sent["version"] != rules["version"] or sent["site_identifier"] != identifier:
        raise Mismatch("version or site_identifier is wrong")
    if not re.fullmatch("[0-9]{10}", sent["timestamp"]) or abs(time.time() - int(sent["timestamp"])) > SKEW_SECONDS:
        raise Mismatch("timestamp is not the time")
    if any(name.endswith("_amount") and not re.fullmatch(r"-?[0-9]+\.[0-9]{2}", sent[name]) for name in sent):
        raise Mismatch("an amount has not two digits after the point")
    expected = [(name, write_value(name, value)) for name, value in read_members(given) if name not in OWNED]
    if [member for member in members if member[0] not in OWNED] != expected:
        raise Mismatch("the members are not the caller's")
    if not hmac.compare_digest(sent["signature"].encode("utf-8"), sign(members, rules["keys"][identifier]).encode()):
        raise Mismatch("the signature is not that of the members")


def main(stream):
    rules = json.loads(read_record(stream))
    checked, mismatches, examples = 0, 0, []
    while (identifier := read_record(stream)) is not None:
        given, wire = read_record(stream), read_record(stream)
        checked += 1
        try:
            check(rules, identifier.decode("ascii"), given, wire)
        except (Mismatch, UnicodeDecodeError) as mismatch:
            mismatches += 1
            if len(examples) < 10:
                reason = str(mismatch) if isinstance(mismatch, Mismatch) else "bytes that are no text"
                examples.append(f"{checked}: {reason}")
    print(json.dumps({"checked": checked, "mismatches": mismatches, "examples": examples}))


main(sys.stdin.buffer)
