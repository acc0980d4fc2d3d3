# SPDX-License-Identifier: Apache-2.0
"""What cases of packaged modules (packages.py) are made of: which packages there are, fields and bodies of requests."""
import base64
import glob
import hashlib
import os
import re

from . import driver

Case, Step = driver.Case, driver.Step
MULTIPART = {"Content-Type": "multipart/form-data; boundary=XX"}
UPLOAD = (b"--XX\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nvalue\r\n--XX\r\nContent-Disposition: form-data; "
          b"name=\"f\"; filename=\"n.txt\"\r\nContent-Type: text/plain\r\n\r\n" + b"content\n" * 5000 + b"\r\n--XX--\r\n")
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
LINE = b"a line of text that is long enough to count\n"


def available():
    """Names of .load files whose module does not come with apache2-bin."""
    found = []
    for path in sorted(glob.glob(f"{driver.AVAILABLE}/*.load")):
        with open(path) as f:
            modules = re.findall(r"^\s*LoadModule\s+\S+\s+(\S+)", f.read(), re.M)
        if modules and not any(os.path.basename(m) in own_files() for m in modules):
            found.append(os.path.basename(path)[:-len(".load")])
    return found


def own_files():
    try:
        with open("/var/lib/dpkg/info/apache2-bin.list") as f:
            return {os.path.basename(line.strip()) for line in f if line.strip().endswith(".so")}
    except FileNotFoundError:
        return set()


def basic(user, password):
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


def sha(password):
    return "{SHA}" + base64.b64encode(hashlib.sha1(password.encode()).digest()).decode()


def chunked(*parts):
    return b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in parts) + b"0\r\n\r\n"


def cookie_of(responses):
    """The last cookie that was set, to be sent back."""
    for r in reversed(responses):
        value = r["Set-Cookie"] if r is not None else None
        if value:
            return {"Cookie": value.split(";")[0]}
    return {}
