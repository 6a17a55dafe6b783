"""A small S3 client: one signed request at a time (AWS Signature Version 4, path style).

For the harness and for tests that look at what the product stored. The payload is always hashed,
so a server that does not check signatures is found out by a wrong secret.
"""

import contextlib
import datetime
import hashlib
import hmac
import http.client
import urllib.parse

REGION = "us-east-1"


class S3Error(Exception):
    def __init__(self, status, body):
        super().__init__(f"S3 answered {status}: {body[:300].decode(errors='replace')}")
        self.status = status


def request(endpoint, key, secret, method, path, body=b"", query=None, headers=None,
            timeout=30.0):
    """Send one signed request; returns (status, headers, body). Does not judge the status."""
    host = urllib.parse.urlsplit(endpoint).netloc
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    signed = {"host": host, "x-amz-date": now,
              "x-amz-content-sha256": hashlib.sha256(body).hexdigest(),
              **{name.lower(): value for name, value in (headers or {}).items()}}
    path = urllib.parse.quote(path, safe="/-_.~")
    pairs = sorted((query or {}).items())
    text = "&".join(f"{quote_all(name)}={quote_all(value)}" for name, value in pairs)
    signed["authorization"] = authorization(key, secret, method, path, text, signed)
    with contextlib.closing(http.client.HTTPConnection(host, timeout=timeout)) as conn:
        conn.request(method, f"{path}?{text}" if text else path, body, signed)
        answer = conn.getresponse()
        return answer.status, answer.headers, answer.read()


def authorization(key, secret, method, path, query, headers):
    now = headers["x-amz-date"]
    names = ";".join(sorted(headers))
    canonical = [f"{name}:{headers[name].strip()}" for name in sorted(headers)]
    lines = [method, path, query, *canonical, "", names, headers["x-amz-content-sha256"]]
    scope = f"{now[:8]}/{REGION}/s3/aws4_request"
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    signing = f"AWS4{secret}".encode()
    for word in scope.split("/"):
        signing = hmac.new(signing, word.encode(), hashlib.sha256).digest()
    to_sign = f"AWS4-HMAC-SHA256\n{now}\n{scope}\n{digest}".encode()
    signature = hmac.new(signing, to_sign, hashlib.sha256).hexdigest()
    return (f"AWS4-HMAC-SHA256 Credential={key}/{scope}, SignedHeaders={names}, "
            f"Signature={signature}")


def quote_all(text):
    return urllib.parse.quote(text, safe="-_.~")
