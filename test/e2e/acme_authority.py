# SPDX-License-Identifier: Apache-2.0
"""A small ACME authority (RFC 8555, 9773), which checks what it is sent, and lies where a test says so. Certificates are made by
openssl."""
import base64
import contextlib
import hashlib
import http.client
import http.server
import ipaddress
import json
import os
import socket
import ssl
import subprocess
import threading
import time

import brigade
from tls_site import TLSAuthority

SHA256_PREFIX = bytes.fromhex("3031300d060960864801650304020105000420")
PROOF = bytes.fromhex("06082b0601050507011f0101ff04220420")  # id-pe-acmeIdentifier, critical, 32 bytes


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(text):
    assert "=" not in text
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Problem(Exception):
    def __init__(self, kind, detail="", status=400, **fields):
        super().__init__(kind)
        self.status, self.fields = status, fields
        self.body = {"type": f"urn:ietf:params:acme:error:{kind}", "detail": detail or kind}


class Authority:
    """lies: words, each of which counts until it is removed."""

    def __init__(self, folder, ports, terms=True, binding=None, profiles=None, days=30):
        self.folder, self.ports, self.terms, self.binding, self.profiles, self.days = folder, ports, terms, binding, profiles, days
        self.made = TLSAuthority(folder)
        own = self.made.make("127.0.0.1", "own", extensions="subjectAltName=IP:127.0.0.1\n")
        self.ca = os.path.join(folder, "ca.pem")
        self.hostile = {}  # name: (resource, bytes of an answer, or a function of the honest JSON)
        self.lies, self.nonces, self.accounts, self.orders, self.authzs, self.certs = set(), set(), {}, [], [], []
        self.asked, self.advice, self.lock, self.accounts_made = [], None, threading.RLock(), 0
        self.persists, self.records = None, {}  # issuer-domain-names of dns-persist-01: it is offered; TXT records by name
        self.extensions, self.issued = "", None  # of certificates; who is told of them
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.authority = self
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(own["cert"], own["key"])
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"https://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def end(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.end()

    # -- requests ------------------------------------------------------------------------------------------

    def directory(self):
        index = {"newNonce": f"{self.url}/nonce", "newAccount": f"{self.url}/account", "newOrder": f"{self.url}/order",
                 "renewalInfo": f"{self.url}/renewal", "meta": {}}
        if self.terms:
            index["meta"]["termsOfService"] = f"{self.url}/terms"
        if self.binding:
            index["meta"]["externalAccountRequired"] = True
        if self.profiles:
            index["meta"]["profiles"] = self.profiles
        return index

    def nonce(self):
        with self.lock:
            nonce = encode(os.urandom(12))
            self.nonces.add(nonce)
            return nonce

    def opened(self, url, body):
        """The payload of a signed request, and its account's URL and key."""
        jws = json.loads(body)
        assert set(jws) == {"protected", "payload", "signature"}
        head = json.loads(decode(jws["protected"]))
        assert head["url"] == url and head["alg"] == "RS256" and ("jwk" in head) != ("kid" in head)
        with self.lock:
            if head["nonce"] not in self.nonces or "nonce" in self.lies:
                raise Problem("badNonce", "a nonce that nobody gave")
            self.nonces.remove(head["nonce"])
            if "nonce-once" in self.lies:
                self.lies.remove("nonce-once")
                raise Problem("badNonce", "another one, please")
        if "kid" in head and head["kid"] not in self.accounts:
            raise Problem("accountDoesNotExist", "who is that")
        jwk = head.get("jwk") or self.accounts[head["kid"]]["jwk"]
        n, e = (int.from_bytes(decode(jwk[name]), "big") for name in "ne")
        signed = pow(int.from_bytes(decode(jws["signature"]), "big"), e, n).to_bytes((n.bit_length() + 7) // 8, "big")
        digest = SHA256_PREFIX + hashlib.sha256(f"{jws['protected']}.{jws['payload']}".encode()).digest()
        assert signed == b"\0\1" + b"\xff" * (len(signed) - len(digest) - 3) + b"\0" + digest, "the signature is wrong"
        return json.loads(decode(jws["payload"]) or b"null"), head.get("kid"), jwk

    def account(self, payload, jwk):
        url = f"{self.url}/account/{hashlib.sha256(json.dumps(jwk, sort_keys=True).encode()).hexdigest()[:16]}"
        if url not in self.accounts:
            if payload.get("onlyReturnExisting"):
                raise Problem("accountDoesNotExist")
            assert payload.get("termsOfServiceAgreed") or not self.terms
            if self.binding:
                self.check_binding(payload["externalAccountBinding"], jwk)
            self.accounts_made += 1
            self.accounts[url] = {"jwk": jwk, "contact": payload["contact"]}
        return url

    def check_binding(self, jws, jwk):
        import hmac
        head = json.loads(decode(jws["protected"]))
        assert head == {"alg": "HS256", "kid": self.binding[0], "url": f"{self.url}/account"}
        assert json.loads(decode(jws["payload"])) == jwk
        mac = hmac.new(decode(self.binding[1]), f"{jws['protected']}.{jws['payload']}".encode(), "sha256").digest()
        assert mac == decode(jws["signature"])

    def order(self, payload, kid):
        number = len(self.orders)
        names = [i["value"] for i in payload["identifiers"]]
        order = {"number": number, "names": names, "status": "pending", "cert": None, "authzs": [], "asked": payload, "kid": kid}
        for name in names:
            order["authzs"].append(len(self.authzs))
            kind = next(i["type"] for i in payload["identifiers"] if i["value"] == name)
            if (kind == "ip") != (name.replace(".", "").isdigit() or ":" in name):
                raise Problem("malformed", "this is no identifier of that type")
            self.authzs.append({"name": name, "kind": kind, "status": "pending", "token": encode(os.urandom(16)), "order": order, "error": None})
        self.orders.append(order)
        return order

    def order_body(self, order):
        if order["status"] == "pending" and all(self.authzs[i]["status"] == "valid" for i in order["authzs"]):
            order["status"] = "ready"
        body = {"status": order["status"], "identifiers": order["asked"]["identifiers"], "finalize": f"{self.url}/finalize/{order['number']}",
                "authorizations": [f"{self.url}/authz/{i}" for i in order["authzs"]]}
        if order["cert"] is not None:
            body["certificate"] = f"{self.url}/cert/{order['cert']}"
        if "invalid" in self.lies:
            body["status"] = "invalid"
        if "words" in self.lies:
            body["status"] = "who knows"
        return body

    def authz_body(self, number):
        authz = self.authzs[number]
        challenges = [{"type": kind, "url": f"{self.url}/challenge/{number}/{kind}", "token": authz["token"], "status": authz["status"]}
                      for kind in ("http-01", "dns-01", "tls-alpn-01")]
        if self.persists is not None:
            challenges.append({"type": "dns-persist-01", "url": f"{self.url}/challenge/{number}/dns-persist-01", "status": authz["status"],
                               "issuer-domain-names": self.persists})
        if authz["error"]:
            challenges[0]["error"] = authz["error"]
        if "token" in self.lies:
            challenges = [{**c, "token": "../../../etc/passwd"} for c in challenges]
        return {"identifier": {"type": authz["kind"], "value": authz["name"].replace("*.", "")}, "status": authz["status"], "challenges": challenges}

    def prove(self, number, kind, jwk):
        authz = self.authzs[number]
        thumb = encode(hashlib.sha256(json.dumps(jwk, sort_keys=True, separators=(",", ":")).encode()).digest())
        expected = f"{authz['token']}.{thumb}"
        try:
            ok = {"http-01": self.prove_http, "tls-alpn-01": self.prove_alpn, "dns-01": self.prove_dns, "dns-persist-01": self.prove_persist}[kind](authz, expected)
        except OSError as e:
            ok, authz["error"] = False, {"type": "urn:ietf:params:acme:error:connection", "detail": str(e)}
        if not ok and not authz["error"]:
            authz["error"] = {"type": "urn:ietf:params:acme:error:unauthorized", "detail": "that is no proof"}
        authz["status"] = "valid" if ok else "invalid"
        if not ok:
            authz["order"]["status"] = "invalid"

    def prove_http(self, authz, expected):
        c = http.client.HTTPConnection("127.0.0.1", self.ports["HTTP"], timeout=brigade.PATIENCE)
        with contextlib.closing(c):
            host = f"[{authz['name']}]" if ":" in authz["name"] else authz["name"]
            c.request("GET", f"/.well-known/acme-challenge/{authz['token']}", headers={"Host": host})
            answer = c.getresponse()
            return answer.status == 200 and answer.read().decode() == expected

    def prove_alpn(self, authz, expected):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_alpn_protocols(["acme-tls/1"])
        asked = ipaddress.ip_address(authz["name"]).reverse_pointer if authz["kind"] == "ip" else authz["name"]
        with socket.create_connection(("127.0.0.1", self.ports["TLS"]), brigade.PATIENCE) as plain, \
                context.wrap_socket(plain, server_hostname=asked) as s:
            return s.selected_alpn_protocol() == "acme-tls/1" and \
                PROOF + hashlib.sha256(expected.encode()).digest() in s.getpeercert(binary_form=True)

    def prove_persist(self, authz, expected):
        """The record, as somebody set it: self.records."""
        name = authz["name"].replace("*.", "")
        found = self.records.get(f"_validation-persist.{name}", "").split("; ")
        wanted = [self.persists[0], *(["policy=wildcard"] if authz["name"].startswith("*.") else [])]
        return all(part in found for part in wanted) and any(part == f"accounturi={account}" for part in found for account in self.accounts)

    def prove_dns(self, authz, expected):
        with open(os.path.join(self.folder, "dns")) as f:
            lines = f.read().split("\n")
        return f"setup {authz['name'].replace('*.', '')} {encode(hashlib.sha256(expected.encode()).digest())}" in lines

    def issue(self, order, csr):
        path = os.path.join(self.folder, f"order{order['number']}")
        with open(f"{path}.der", "wb") as f:
            f.write(decode(csr))
        kinds = {i["value"]: i["type"] for i in order["asked"]["identifiers"]}
        names = [f"{'IP' if kinds[n] == 'ip' else 'DNS'}:{n}" for n in order["names"]]
        if "other-name" in self.lies:
            names = ["DNS:other.test"]
        with open(f"{path}.cnf", "w") as f:
            f.write(f"subjectAltName={','.join(names)}\nauthorityKeyIdentifier=keyid\n{self.extensions}")
        request = ["-in", f"{path}.der", "-inform", "DER"]
        if "other-key" in self.lies:
            subprocess.run(["openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=x",
                            "-keyout", f"{path}.key", "-out", f"{path}.csr"], check=True, capture_output=True)
            request = ["-in", f"{path}.csr"]
        subprocess.run(["openssl", "x509", "-req", *request, "-CA", self.ca, "-CAkey", os.path.join(self.folder, "ca.key"),
                        "-days", str(self.days), "-set_serial", str(int.from_bytes(os.urandom(8), "big")), "-extfile", f"{path}.cnf",
                        "-out", f"{path}.pem"], check=True, capture_output=True)
        with open(f"{path}.pem") as f, open(self.ca) as chain:
            self.certs.append(f.read() + chain.read())
        if self.issued:
            self.issued(self.certs[-1].encode())
        order["cert"], order["status"] = len(self.certs) - 1, "valid"

    def renewal(self, name):
        start, end = self.advice or (time.time() + 86400 * 10, time.time() + 86400 * 11)
        return {"suggestedWindow": {"start": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(start)),
                                    "end": time.strftime("%Y-%m-%dT%H:%M:%S.5+00:00", time.gmtime(end))},
                "explanationURL": "https://example.test/why"}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *unused):
        pass

    @property
    def authority(self):
        return self.server.authority

    def _hostile(self, names, resource, body):
        """What a test has for this resource of an order for one of the names, in place of the body."""
        for name in names:
            asked, answer = self.authority.hostile.get(name, (None, None))
            if asked == resource:
                return answer(json.loads(json.dumps(body)) if not isinstance(body, bytes) else {}) if callable(answer) else answer
        return None

    def _send_for(self, order, resource, body, status=200, **more):
        """The answer of an order, unless a test has another one."""
        lie = self._hostile(order["names"], resource, body)
        if not isinstance(lie, bytes):
            return self._send(body if lie is None else lie, status, **more)
        self.wfile.write(lie)
        self.close_connection = True
        return None

    def _send(self, body, status=200, kind="application/json", **fields):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Replay-Nonce", self.authority.nonce())
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _lie(self):
        """1: it was answered by a lie about the directory."""
        lies = self.authority.lies
        if "redirect" in lies:
            self._send({}, 302, Location=f"{self.authority.url}/dir")
        elif "json" in lies:
            self._send(b'{"newNonce": "https://x", "newNonce": }')
        elif "deep" in lies:
            self._send(b"[" * 100000)
        elif "no-directory" in lies:
            self._send({"newNonce": "ftp://x"})
        elif "busy" in lies:
            self._send({"detail": "later"}, 503, Retry_After="1")
        elif "cut" in lies:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
            self.close_connection = True
        elif "nonsense" in lies:
            self.wfile.write(b"220 mail.example.test ESMTP\r\n\r\n")
            self.close_connection = True
        elif "endless" in lies:
            with contextlib.suppress(OSError):
                self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
                while True:
                    self.wfile.write(b"[" * 65536)
            self.close_connection = True
        else:
            return False
        return True

    def do_HEAD(self):
        self._send({})

    def do_GET(self):
        self.authority.asked.append(self.path)
        if self.path == "/dir":
            return None if self._lie() else self._send(self.authority.directory())
        if self.path.startswith("/renewal/"):
            return self._send(self.authority.renewal(self.path[9:]), Retry_After="3600")
        return self._send({}, 404)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.authority.asked.append(self.path)
        try:
            assert self.headers["Content-Type"] == "application/jose+json"
            payload, kid, jwk = self.authority.opened(f"{self.authority.url}{self.path}", body)
            with self.authority.lock:
                self._answer(self.path.split("/")[1:], payload, kid, jwk)
        except Problem as p:
            self._send(p.body, p.status, "application/problem+json", **p.fields)
        except AssertionError as e:
            self._send({"detail": f"malformed: {e!r}"}, 400, "application/problem+json")

    def _answer(self, path, payload, kid, jwk):
        a = self.authority
        if path == ["account"]:
            return self._send({"status": "valid"}, 201, Location=a.account(payload, jwk))
        assert kid
        if path == ["order"]:
            if "limit" in a.lies:
                raise Problem("rateLimited", "too many", 429, Retry_After="2")
            order = a.order(payload, kid)
            return self._send_for(order, "new", a.order_body(order), 201, Location=f"{a.url}/order/{order['number']}")
        number = int(path[1])
        if path[0] == "order":
            return self._send_for(a.orders[number], "order", a.order_body(a.orders[number]))
        if path[0] == "authz":
            return self._send_for(a.authzs[number]["order"], "authz", a.authz_body(number))
        if path[0] == "challenge":
            a.lock.release()  # proofs are asked for while others may talk
            try:
                a.prove(number, path[2], jwk)
            finally:
                a.lock.acquire()
            return self._send_for(a.authzs[number]["order"], "challenge", {"type": path[2], "status": "processing"})
        if path[0] == "finalize":
            a.order_body(a.orders[number])
            assert a.orders[number]["status"] == "ready"
            a.issue(a.orders[number], payload["csr"])
            return self._send_for(a.orders[number], "finalize", a.order_body(a.orders[number]))
        assert path[0] == "cert"
        if "no-cert" in a.lies:
            return self._send(b"-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----\n", kind="application/pem-certificate-chain")
        order = next((o for o in a.orders if o["cert"] == number), {"names": []})
        return self._send_for(order, "cert", a.certs[number].encode(), kind="application/pem-certificate-chain")
