# SPDX-License-Identifier: Apache-2.0
"""ProxyHCExpr: what conditions of health checks see of an answer."""
import pytest

from backend import Backend, answer
from brigade import wait_until

MET = ["%{REQUEST_STATUS} == 207", "%{resp:X-State} == 'up'", "hc('body') =~ /all is well/", "%{REQUEST_METHOD} == 'GET'",
       "%{resp:X-None} == '' && %{REMOTE_USER} == ''", "%{SERVER_NAME} == 'site.example'"]


@pytest.mark.parametrize("condition", MET)
@pytest.mark.parametrize("met", [True, False], ids=["met", "not"])
def test_an_answer_is_judged(serve, condition, met):
    with Backend({"*": answer(b"all is well\n", "207 Multi-Status", [("X-State", "up")])}) as backend:
        expression = condition if met else f"!({condition})"
        server = serve(f"ServerName site.example\nProxyHCExpr c {{{expression}}}\n<Proxy balancer://b>\n"
                       f"BalancerMember http://127.0.0.1:{backend.port} hcmethod=GET hcinterval=1 hcexpr=c hcuri=/health\n</Proxy>\n"
                       "ProxyPass /b/ balancer://b/\n")
        wait_until(lambda: len(backend.requests) >= 2, "checks")
        wait_until(lambda: server.get("/b/x").status == (207 if met else 503), "the verdict")
