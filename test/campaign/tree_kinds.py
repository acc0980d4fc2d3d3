# SPDX-License-Identifier: Apache-2.0
"""Kinds of change to a tree: an operation and what it is done to. A kind that is known to be missed has the item of
issue 10 beside it; when it is mended, its line in MISSED goes (tree.py reports such a kind that passes)."""
import ctypes
import os
import platform
import pwd
import shutil
import socket
import stat
import struct
import subprocess

from tree_site import DENY, GRANT, PLAN

libc = ctypes.CDLL(None, use_errno=True)
AT_FDCWD, RENAME_EXCHANGE = -100, 2
IO_SETUP, IO_DESTROY, IO_GETEVENTS, IO_SUBMIT, IOCB_PWRITE = 206, 207, 208, 209, 1  # of x86-64


class Skip(Exception):
    """There is nothing there to do it to."""


def exchange(one, two):
    if libc.renameat2(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(two), RENAME_EXCHANGE):
        raise Skip(os.strerror(ctypes.get_errno()))


RULES = [  # that look at what is there, or lead away what is not
    "RewriteEngine On\nRewriteCond %{REQUEST_FILENAME} !-f\nRewriteCond %{REQUEST_FILENAME} !-d\nRewriteRule . /b.txt [L]\n",
    "RewriteEngine On\nRewriteRule ^none/(.*)$ /sub/x.html?$1 [L,R=301]\n", "RewriteEngine On\nRewriteCond %{DOCUMENT_ROOT}/later.txt -s\nRewriteRule ^none - [F]\n",
    "RewriteEngine On\nRewriteCond %{REQUEST_URI} -U\nRewriteRule ^none /a.html [L]\n", "FallbackResource /a.html\n", "<Files none*>\nRequire all denied\n</Files>\n",
    "<If \"-f '%{DOCUMENT_ROOT}/later.txt'\">\nHeader set X-Later yes\n</If>\n", "ErrorDocument 404 gone\nErrorDocument 403 /b.txt\n",
]


def _content(site, name, rng):
    """Something new that fits the name."""
    if name.endswith((".htaccess", "acl")):
        if site.visible:
            return f"Header set X-V {site.text().split()[1]}\n"
        return rng.choice([DENY, GRANT, f"Header set X-V {site.version}\n", "", "Options -Indexes\n", "DirectoryIndex x.html z.html\n", "ErrorDocument 404 /b.txt\n", "ForceType text/x-v\n", "Options -FollowSymLinks\n", "Options SymLinksIfOwnerMatch\n", "nonsense\n", "Redirect /sub/x.html /b.txt\n", "Header set ETag x\n", *RULES])
    if name.endswith(".shtml"):
        return rng.choice([PLAN["htdocs/pages/p.shtml"], PLAN["htdocs/pages/q.shtml"], "plain\n", '<!--#include virtual="/a.html" -->\n']) + site.text()
    return site.text()


def _file(path):
    if not os.path.isfile(path) or os.path.islink(path):
        raise Skip()
    return path


def _there(path):
    if not os.path.lexists(path):
        raise Skip()
    return path


def _parent(path):
    if not os.path.isdir(os.path.dirname(path)):
        raise Skip()


def _new(site, name, rng, path):
    """A finished file beside the path."""
    _parent(path)
    new = os.path.join(site.root, "new")
    with open(new, "w") as f:
        f.write(_content(site, name, rng))
    os.chmod(new, 0o644)
    site.settle(new)
    return new


def _in_the_way(path):
    if os.path.isdir(path) and not os.path.islink(path):
        raise Skip()


# ---- operations: function(site, name, path, rng) ----

def write(site, name, path, rng):
    if os.path.exists(path) and not os.path.isfile(path):
        raise Skip()  # a FIFO waits for a reader
    _in_the_way(path)
    _parent(path)
    if os.path.islink(path):
        raise Skip()
    with open(path, "w") as f:
        f.write(_content(site, name, rng))
    site.settle(path)


def write_same_size_and_time(site, name, path, rng):
    st = os.stat(_file(path))
    data = bytearray(open(path, "rb").read())
    if not data or name.endswith((".htaccess", "acl", ".shtml")):
        raise Skip()
    data[rng.randrange(len(data))] = rng.choice(b"0123456789")
    with open(path, "r+b") as f:
        f.write(data)
    os.utime(path, ns=(st.st_atime_ns, st.st_mtime_ns))


def append(site, name, path, rng):
    with open(_file(path), "a") as f:
        f.write("# more\n")
    site.settle(path)


def truncate(site, name, path, rng):
    os.truncate(_file(path), 0)
    site.settle(path)


def truncate_half(site, name, path, rng):
    if name.endswith((".htaccess", "acl", ".shtml")):
        raise Skip()
    os.truncate(_file(path), os.path.getsize(path) // 2)
    site.settle(path)


def extend(site, name, path, rng):
    if name.endswith((".htaccess", "acl", ".shtml")):
        raise Skip()
    os.truncate(_file(path), os.path.getsize(path) + 100)
    site.settle(path)


def punch(site, name, path, rng):
    if os.path.getsize(_file(path)) < 20 or name.endswith((".htaccess", "acl", ".shtml")):
        raise Skip()
    fd = os.open(path, os.O_RDWR)
    try:
        if libc.fallocate64(fd, 3, ctypes.c_int64(3), ctypes.c_int64(10)):
            raise Skip()
    finally:
        os.close(fd)
    site.settle(path)


def copy_range(site, name, path, rng):
    new = _new(site, name, rng, path)
    source, to = os.open(new, os.O_RDONLY), os.open(_file(path), os.O_WRONLY)
    try:
        os.copy_file_range(source, to, 5)
    finally:
        os.close(source)
        os.close(to)
    site.settle(path)


def splice_into(site, name, path, rng):
    if name.endswith((".htaccess", "acl", ".shtml")):
        raise Skip()
    fd = os.open(_file(path), os.O_WRONLY)
    r, w = os.pipe()
    try:
        os.write(w, b"spliced %d" % site.version)
        os.splice(r, fd, 8)
    finally:
        for one in (fd, r, w):
            os.close(one)
    site.settle(path)


def kept_open(site, name, path, rng):
    """A writer that had the file open before it was moved away and back."""
    with open(_file(path), "r+") as f:
        os.rename(path, path + ".away")
        os.rename(path + ".away", path)
        f.write("kept ")
    site.settle(path)


def written_by_aio(site, name, path, rng):
    """Linux AIO tells inotify nothing of the write (and no time is set afterwards, which would)."""
    if platform.machine() != "x86_64" or name.endswith((".htaccess", "acl", ".shtml")) or not os.path.getsize(_file(path)):
        raise Skip()
    data = (site.text() + "\n" * os.path.getsize(path)).encode()[:os.path.getsize(path)]
    text, context, events = ctypes.create_string_buffer(data, len(data)), ctypes.c_ulong(), ctypes.create_string_buffer(32)
    fd = os.open(path, os.O_WRONLY)
    try:
        if libc.syscall(IO_SETUP, 1, ctypes.byref(context)):
            raise Skip(os.strerror(ctypes.get_errno()))
        control = ctypes.create_string_buffer(struct.pack("<QIIHhIQQqQII", 0, 0, 0, IOCB_PWRITE, 0, fd, ctypes.addressof(text), len(data), 0, 0, 0, 0), 64)
        submitted = libc.syscall(IO_SUBMIT, context, 1, ctypes.byref(ctypes.pointer(control)))
        assert submitted == 1 and libc.syscall(IO_GETEVENTS, context, 1, 1, events, None) == 1
        assert struct.unpack("<QQqq", events.raw)[2] == len(data)
        libc.syscall(IO_DESTROY, context)
    finally:
        os.close(fd)


def replace(site, name, path, rng):
    _in_the_way(path)
    os.rename(_new(site, name, rng, path), path)


def replace_same(site, name, path, rng):
    """Another file with the same contents, size and time."""
    shutil.copy2(_file(path), path + ".new")
    os.rename(path + ".new", path)


def unlink(site, name, path, rng):
    _in_the_way(path)
    os.unlink(_there(path))


def create_again(site, name, path, rng):
    _in_the_way(path)
    os.unlink(_there(path))
    write(site, name, path, rng)


def restore(site, name, path, rng):
    if name in PLAN:
        site.restore(name)
    else:
        site.remove(_there(path))


def touch(site, name, path, rng):
    site.settle(_there(path))


def touch_back(site, name, path, rng):
    os.utime(_there(path), (900_000_000, 900_000_000), follow_symlinks=False)


def touch_now(site, name, path, rng):
    os.utime(_there(path), follow_symlinks=False)


def touch_future(site, name, path, rng):
    os.utime(_there(path), (4_000_000_000, 4_000_000_000), follow_symlinks=False)


def _mode(mode):
    def change(site, name, path, rng):
        if os.path.islink(_there(path)):
            raise Skip()
        os.chmod(path, mode)
    return change


def _owner(user):
    def change(site, name, path, rng):
        try:
            uid = pwd.getpwnam(user).pw_uid
        except KeyError:
            raise Skip() from None
        os.chown(_there(path), uid, -1, follow_symlinks=False)
    return change


def hard_link(site, name, path, rng):
    _in_the_way(path)
    _parent(path)
    os.link(_file(site.path("outside/h.html")), path + ".new")
    os.rename(path + ".new", path)


def written_through_other_name(site, name, path, rng):
    """A second name of the same file, elsewhere, by which it is written."""
    other = os.path.join(site.root, "second")
    if os.path.lexists(other):
        os.unlink(other)
    os.link(_file(path), other)
    if name.endswith((".htaccess", "acl")):
        raise Skip()
    with open(other, "w") as f:
        f.write(_content(site, name, rng))
    site.settle(other)


def mode_through_other_name(site, name, path, rng):
    other = os.path.join(site.root, "second")
    if os.path.lexists(other):
        os.unlink(other)
    os.link(_file(path), other)
    os.chmod(other, rng.choice([0o600, 0o644]))


def tmpfile_link(site, name, path, rng):
    _in_the_way(path)
    _parent(path)
    if os.path.lexists(path):
        os.unlink(path)
    fd = os.open(os.path.dirname(path), os.O_TMPFILE | os.O_WRONLY, 0o644)
    try:
        os.write(fd, _content(site, name, rng).encode())
        os.utime(fd, (site.clock, site.clock))
        os.link(f"/proc/self/fd/{fd}", path, follow_symlinks=True)
    finally:
        os.close(fd)


def _link(target):
    """A symbolic link takes its place by renaming."""
    def change(site, name, path, rng):
        _in_the_way(path)
        _parent(path)
        os.symlink(target.replace("SITE", site.root), path + ".new")
        os.rename(path + ".new", path)
    return change


def fifo_over(site, name, path, rng):
    _in_the_way(path)
    _parent(path)
    os.mkfifo(path + ".new", 0o644)
    os.rename(path + ".new", path)


def socket_over(site, name, path, rng):
    _in_the_way(path)
    _parent(path)
    new = os.path.join(site.root, "s")
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(new)
    os.rename(new, path)


def folder_over(site, name, path, rng):
    _in_the_way(path)
    os.unlink(_there(path))
    os.mkdir(path)
    with open(os.path.join(path, "index.html"), "w") as f:
        f.write(site.text())
    site.settle(os.path.join(path, "index.html"))


def move_away(site, name, path, rng):
    away = _there(path) + ".away"
    if os.path.lexists(away):
        raise Skip()
    os.rename(path, away)


def move_out(site, name, path, rng):
    away = os.path.join(site.root, "moved")
    site.remove(away)
    os.rename(_there(path), away)


def move_back(site, name, path, rng):
    if os.path.lexists(path):
        raise Skip()
    os.rename(_there(path + ".away"), path)


def swap(other):
    def change(site, name, path, rng):
        there = site.path(other)
        if name == other or there.startswith(path + "/") or path.startswith(there + "/"):
            raise Skip()
        _there(there)
        exchange(_there(path), there)
    return change


def bind_file(site, name, path, rng):
    if len(site.mounts) > 4:
        raise Skip()
    site.mount("--bind", _file(site.path("other/o.html")), at=_file(path))


def bind_folder(site, name, path, rng):
    if not os.path.isdir(path) or os.path.islink(path) or len(site.mounts) > 4:
        raise Skip()
    site.mount("--bind", site.path("other"), at=path)


def tmpfs_over(site, name, path, rng):
    if not os.path.isdir(path) or os.path.islink(path) or len(site.mounts) > 4:
        raise Skip()
    site.mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", at=path)


def unmount(site, name, path, rng):
    if path not in site.mounts:
        raise Skip()
    site.unmount(path)


def remount_read_only(site, name, path, rng):
    if path not in site.mounts:
        raise Skip()
    subprocess.run(["mount", "-o", "remount,bind,ro", path], check=False, capture_output=True)


def copy_over(site, name, path, rng):
    """A folder that was copied and changed takes the place of what was there."""
    if not os.path.isdir(path) or os.path.islink(path):
        raise Skip()
    new, old = path + ".new", os.path.join(site.root, "old")
    site.remove(old)
    shutil.copytree(path, new, symlinks=True)
    for entry in sorted(os.listdir(new)):
        full = os.path.join(new, entry)
        if os.path.isfile(full) and not os.path.islink(full) and not name.startswith("acl"):
            with open(full, "w") as f:
                f.write(_content(site, entry, rng))
            site.settle(full)
    try:
        os.rename(path, old)
    except OSError:
        site.remove(new)
        raise
    os.rename(new, path)
    shutil.rmtree(old)


def link_to_copy(site, name, path, rng):
    """The folder becomes a link to a folder that has its name elsewhere."""
    if not os.path.isdir(path) or os.path.islink(path):
        raise Skip()
    away = os.path.join(site.root, "linked")
    site.remove(away)
    os.rename(path, away)
    os.symlink(away, path)


def link_to_other(site, name, path, rng):
    if not os.path.isdir(path) or os.path.islink(path):
        raise Skip()
    site.remove(path)
    os.symlink(site.path("other"), path)


def remove_tree(site, name, path, rng):
    if not os.path.isdir(path) or os.path.islink(path):
        raise Skip()
    shutil.rmtree(path)


def restore_tree(site, name, path, rng):
    site.unmount(path if path in site.mounts else None)
    if os.path.islink(path):
        os.unlink(path)
    for planned in PLAN:
        if planned.startswith(name + "/"):
            site.restore(planned)
    _there(path)
    os.chmod(path, 0o755)
    os.chown(path, 0, 0)


def new_entry(site, name, path, rng):
    if not os.path.isdir(path):
        raise Skip()
    new = os.path.join(path, rng.choice(["new.txt", "index.txt", "x.html", "four.txt", "n.html.fr", "f.html"]))
    write(site, new, new, rng)


def arrives_whole(site, name, path, rng):
    """A folder with its contents takes its place in one step."""
    _parent(path)
    if os.path.lexists(path):
        raise Skip()
    new = os.path.join(site.root, "arriving")
    site.remove(new)
    os.mkdir(new)
    os.chmod(new, 0o755)
    for entry in ("here.html", "index.shtml", "index.html", "acl", ".htaccess"):
        full = os.path.join(new, entry)
        with open(full, "w") as f:
            f.write(_content(site, entry, rng))
        site.settle(full)
    os.rename(new, path)


def new_folder(site, name, path, rng):
    new = os.path.join(path, rng.choice(["folder", "in2", "x.html"]))
    if not os.path.isdir(path) or os.path.lexists(new):
        raise Skip()
    os.mkdir(new)


FILE_OPS = {"write": write, "same size and time": write_same_size_and_time, "append": append, "truncate": truncate, "truncate by half": truncate_half, "extend": extend, "punch a hole": punch, "copy_file_range": copy_range, "splice": splice_into, "writer that kept it open": kept_open, "Linux AIO": written_by_aio, "replace": replace,
            "replace, all the same": replace_same, "unlink": unlink, "create again": create_again, "restore": restore, "touch": touch, "touch back": touch_back, "touch now": touch_now, "touch future": touch_future, "mode 000": _mode(0), "mode 600": _mode(0o600), "mode 644": _mode(0o644), "mode 755": _mode(0o755), "owner nobody": _owner("nobody"), "owner www-data": _owner("www-data"),
            "hard link": hard_link, "write by another name": written_through_other_name, "mode by another name": mode_through_other_name, "O_TMPFILE": tmpfile_link, "link to a file": _link("SITE/other/o.html"), "link that dangles": _link("nowhere"), "link to itself": _link("loop"), "link to a folder": _link("SITE/other"), "FIFO": fifo_over, "socket": socket_over, "folder": folder_over,
            "move away": move_away, "move out": move_out, "move back": move_back, "swap with another": swap("htdocs/later.txt"), "bind": bind_file, "unmount": unmount}
FOLDER_OPS = {"mode 000": _mode(0), "mode 700": _mode(0o700), "mode 711": _mode(0o711), "mode 755": _mode(0o755), "mode 744": _mode(0o744), "owner nobody": _owner("nobody"), "owner www-data": _owner("www-data"), "move away": move_away, "move out": move_out, "move back": move_back, "swap with another": swap("other"), "bind": bind_folder, "tmpfs": tmpfs_over, "unmount": unmount,
              "remount read-only": remount_read_only, "copy takes its place": copy_over, "becomes a link to itself elsewhere": link_to_copy, "becomes a link to another": link_to_other, "remove": remove_tree, "restore": restore_tree, "new entry": new_entry, "new folder": new_folder, "touch": touch}
LINK_OPS = {"another target": _link("SITE/htdocs/b.txt"), "target outside": _link("SITE/other/o.html"), "target a folder": _link("SITE/other"), "target sub": _link("sub"), "target list": _link("list"), "dangling": _link("nowhere"), "loop": _link("loop"), "becomes a file": replace, "unlink": unlink, "restore": restore, "owner nobody": _owner("nobody"),
            "owner www-data": _owner("www-data"), "touch": touch, "move away": move_away, "move back": move_back, "swap with a file": swap("htdocs/later.txt"), "swap with a folder": swap("other")}

# What it is done to, by role.
ROLES = {
    "a file": (FILE_OPS, ["htdocs/a.html", "htdocs/b.txt", "htdocs/sub/x.html", "htdocs/large.bin", "htdocs/empty", "htdocs/exec/e.html", "htdocs/modes/f.html"]),
    "a file without overrides": (FILE_OPS, ["htdocs/fixed/f.html", "htdocs/fixed/in/g.html"]),
    "a file that is linked to": (FILE_OPS, ["htdocs/owner/f.html", "htdocs/nolinks/f.html", "outside/o.html", "htdocs/owner/real/g.html"]),
    "an index": (FILE_OPS, ["htdocs/index.html", "htdocs/sub/index.html", "htdocs/idx/index.html", "htdocs/fixed/index.html"]),
    "an earlier index": (FILE_OPS, ["htdocs/idx/index.shtml", "htdocs/idxt/index.html", "htdocs/list/index.html", "htdocs/fixed/index.shtml"]),
    "an error document": (FILE_OPS, ["htdocs/err.html"]),
    "a page": (FILE_OPS, ["htdocs/pages/p.shtml", "htdocs/pages/q.shtml"]),
    "a part": (FILE_OPS, ["htdocs/pages/part.html", "htdocs/pages/f.html"]),
    "a variant": (FILE_OPS, ["htdocs/neg/n.html.en", "htdocs/neg/n.html.de", "htdocs/neg/n.html.fr", "htdocs/neg/n.html"]),
    "an access file": (FILE_OPS, ["htdocs/ht/.htaccess", "htdocs/sub/deep/.htaccess"]),
    "an access file that was not there": (FILE_OPS, ["htdocs/noht/.htaccess", "htdocs/.htaccess", "htdocs/list/.htaccess", "htdocs/owner/.htaccess", "htdocs/pages/.htaccess"]),
    "an access file in a folder": (FILE_OPS, ["htdocs/acl/.conf/acl"]),
    "the target of an access file": (FILE_OPS, ["acls/v1/acl"]),
    "a file of a listing": (FILE_OPS, ["htdocs/list/one.txt", "htdocs/list/README.html", "htdocs/list/HEADER.html", "htdocs/list/new.txt"]),
    "a file by alias": (FILE_OPS, ["outside/o.html", "outside/h.html", "outside/in/o.html"]),
    "a file that rules ask for": (FILE_OPS, ["htdocs/rw/maintenance", "htdocs/rw/a.html", "htdocs/rw/a.htm"]),
    "a file that fell back": (FILE_OPS, ["htdocs/fall/none", "htdocs/fall/f.html"]),
    "a target that was not there": (FILE_OPS, ["htdocs/later/here.html", "htdocs/later/index.shtml", "acls/none/acl"]),
    "a folder": (FOLDER_OPS, ["htdocs/sub", "htdocs/modes", "htdocs/modes/in", "htdocs/m", "htdocs/list", "htdocs/sub/deep"]),
    "a folder without overrides": (FOLDER_OPS, ["htdocs/fixed", "htdocs/fixed/in"]),
    "a folder of pages": (FOLDER_OPS, ["htdocs/pages", "htdocs/idx", "htdocs/neg"]),
    "a folder with a link policy": (FOLDER_OPS, ["htdocs/owner", "htdocs/owner/real", "htdocs/nolinks", "htdocs/nolinks/real"]),
    "a folder of access files": (FOLDER_OPS, ["htdocs/ht", "htdocs/acl", "htdocs/acl/.conf", "htdocs/noacl", "htdocs/noht"]),
    "the folder of an access file's target": (FOLDER_OPS, ["acls/v1", "acls"]),
    "a folder outside": (FOLDER_OPS, ["outside", "outside/in"]),
    "a folder that was not there": ({"create": lambda site, name, path, rng: (_parent(path), os.path.lexists(path) and (_ for _ in ()).throw(Skip()), os.mkdir(path)), "arrives whole": arrives_whole, **{k: FOLDER_OPS[k] for k in ("remove", "new entry", "move away", "move back", "mode 700", "mode 755")}}, ["htdocs/later", "acls/none", "htdocs/noacl/.conf"]),
    "the root": ({k: FOLDER_OPS[k] for k in ("new entry", "mode 711", "mode 755", "mode 700", "copy takes its place", "touch")}, ["htdocs"]),
    "a link to a file": (LINK_OPS, ["htdocs/l.html", "htdocs/up.html", "htdocs/through.html"]),
    "a link in a chain": (LINK_OPS, ["htdocs/chain", "htdocs/mid", "htdocs/end"]),
    "a link to a folder": (LINK_OPS, ["htdocs/ld", "htdocs/lout"]),
    "a link to a link to a folder": (LINK_OPS, ["htdocs/lchain", "htdocs/lmid"]),
    "a link that dangles": (LINK_OPS, ["htdocs/dangling.html", "htdocs/idxl/index.shtml"]),
    "a link with a policy": (LINK_OPS, ["htdocs/owner/l.html", "htdocs/owner/ld", "htdocs/owner/out.html", "htdocs/nolinks/l.html", "htdocs/fixed/l.html"]),
    "a link to a part": (LINK_OPS, ["htdocs/pages/l.html"]),
    "a link to an access file": (LINK_OPS, ["htdocs/lht/.htaccess", "htdocs/dht/.htaccess"]),
    "a link to the folder of access files": (LINK_OPS, ["acls/cur", "htdocs/lacl/.conf"]),
}

# What misses a change: a pattern of "operation of role" or of "operation of role: name", the item of issue 10, and an
# example, which each sweep begins with: when it passes, the line goes.
MISSED = {}

# What a walk leaves out besides, since some change before makes it one of those: kinds, and targets.
AVOIDED = {}

KINDS = [(f"{op} of {role}", change, names) for role, (ops, names) in ROLES.items() for op, change in ops.items()]
