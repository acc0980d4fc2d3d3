# SPDX-License-Identifier: Apache-2.0
"""A name service that does not answer: who waits for it is a worker, not an event loop."""
import os

import pytest

import module_source
from brigade import wait_until
from ports import named_localhost

# Who asks for a name says so by a file, and waits for another one.
NAMES = r"""
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int getnameinfo(const struct sockaddr *sa, socklen_t len, char *host, socklen_t room, char *service, socklen_t service_room, int flags)
{
    const char *folder = getenv("NAMES_FOLDER");
    FILE *f = folder && !chdir(folder) ? fopen("asked", "w") : NULL;

    if (f)
        fclose(f);
    while (!access("asked", F_OK) && access("go", F_OK))
        usleep(10000);
    snprintf(host, room, "localhost");
    return 0;
}
"""


@named_localhost
@pytest.mark.only("brigade")
@pytest.mark.parametrize("rule", ["Require host localhost", "Order deny,allow\nDeny from all\nAllow from localhost"])
@pytest.mark.parametrize("target", ["/in/a.txt", "/page.shtml"])
def test_an_access_file_that_asks_for_the_clients_name(serve, tmp_path, rule, target):
    """The first request of a process that reads it, too, by itself or as a part of a page."""
    (tmp_path / "names.c").write_text(NAMES)
    so = module_source.compile_file(tmp_path / "names.c", tmp_path / "names.so")
    server = serve.unstarted("EventLoops 1\nServerProcesses 1\n<Directory @ROOT@/htdocs>\nAllowOverride All\nOptions +Includes\n"
                             "AddOutputFilter INCLUDES .shtml\n</Directory>\n",
                             {"a.txt": "A\n", "in/a.txt": "A\n", "page.shtml": '<!--#include virtual="/in/a.txt" -->', "in/.htaccess": rule + "\n"}, env={"LD_PRELOAD": module_source.preloaded(so)})
    folder = server.path("names")
    os.mkdir(folder)
    os.chmod(folder, 0o777)
    os.utime(server.path("htdocs/page.shtml"), (1e9, 1e9))  # one that is still being written may not be kept parsed
    server.env["NAMES_FOLDER"] = folder
    server.start()
    try:
        with server.connect() as asking, server.connect(timeout=5) as other:
            asking.send(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n")
            wait_until(lambda: os.path.exists(folder + "/asked"), "a question for a name")
            assert other.request("GET", "/a.txt").body == b"A\n"
            server.write("go", "", base="names")
            assert asking.read_response().body == b"A\n"
    finally:
        server.write("go", "", base="names")
