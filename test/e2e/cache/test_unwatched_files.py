# SPDX-License-Identifier: Apache-2.0
"""Files that cannot be watched, as where the kernel gives no more watches: each answer from memory looks at them."""
import gzip

import pytest

import module_source
from cache_site import settle

pytestmark = [pytest.mark.only("brigade"), pytest.mark.threads]

NO_WATCH = r"""
#include <errno.h>
#include <stdint.h>

int inotify_add_watch(int fd, const char *path, uint32_t mask)
{
    errno = ENOSPC;
    return -1;
}
"""
CONFIG = """
ServerRoot "@ROOT@"
ServerName localhost
Listen 127.0.0.1:@PORT@
PidFile "@ROOT@/logs/httpd.pid"
ErrorLog "@ROOT@/logs/error_log"
TypesConfig /dev/null
DocumentRoot "@ROOT@/htdocs"
EventLoops 1
ServerProcesses 1
AddType text/plain .txt
AddOutputFilterByType DEFLATE text/plain
"""
TEXT = b"".join(b"line %d of a text that takes a while\n" % n for n in range(10000))


def test_what_workers_compressed_and_the_loop_does_now(serve, tmp_path):
    """A long file is compressed by workers, a short one by the loop: neither meets what nobody has filled."""
    (tmp_path / "watch.c").write_text(NO_WATCH)
    so = module_source.compile_file(tmp_path / "watch.c", tmp_path / "watch.so")
    server = serve.unstarted(CONFIG, {"a.txt": TEXT}, bare=True, env={"LD_PRELOAD": module_source.preloaded(so)})
    settle(server.path("htdocs"))
    server.start()
    with server.connect() as c:
        for content in (TEXT, TEXT[:3000]):
            server.write("a.txt", content)
            settle(server.path("htdocs"))
            for _ in range(4):
                answer = c.get("/a.txt", {"Accept-Encoding": "gzip"})
                assert answer.status == 200 and answer["Content-Encoding"] == "gzip" and gzip.decompress(answer.body) == content
