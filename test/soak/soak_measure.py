# SPDX-License-Identifier: Apache-2.0
"""Figures of a server's processes over time, as text and as SVG."""
import os
import time

FIGURES = {  # name: what it is
    "rss": "resident size of the newest server process, MiB",
    "pss": "its proportional share, MiB",
    "fds": "its descriptors",
    "watches": "its inotify watches",
    "threads": "its threads",
    "supervisor_rss": "resident size of the supervisor, MiB",
    "supervisor_fds": "descriptors of the supervisor",
    "processes": "server processes",
    "open": "connections that clients hold",
}
# What may grow within a run: share of the level before, and a constant. A process that begins stores what was hot in those before
# it at the first request: on a busy machine it watches up to a third more, and sooner, than the first ones.
ALLOWED = {"rss": (0.10, 4), "pss": (0.10, 4), "fds": (0.15, 64), "watches": (0.5, 16), "threads": (0, 4),
           "supervisor_rss": (0.02, 1), "supervisor_fds": (0, 2), "processes": (0.5, 1)}
WIDTH, HEIGHT = 100, 6
SVG_WIDTH, SVG_HEIGHT = 900, 120


def processes_of(supervisor):
    """Server processes, the oldest first."""
    try:
        with open(f"/proc/{supervisor}/task/{supervisor}/children", encoding="ascii") as f:
            children = [int(n) for n in f.read().split()]
    except FileNotFoundError:
        return []
    return [pid for pid in children if _threads(pid) > 1]


def _threads(pid):
    try:
        return len(os.listdir(f"/proc/{pid}/task"))
    except FileNotFoundError:
        return 0


def descriptors_of(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def _watches(pid):
    n = 0
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            if os.readlink(f"/proc/{pid}/fd/{fd}") == "anon_inode:inotify":
                with open(f"/proc/{pid}/fdinfo/{fd}", encoding="ascii") as f:
                    n += sum(line.startswith("inotify wd:") for line in f)
        except FileNotFoundError:
            continue
    return n


def _memory(pid):
    found = {}
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as f:
        for line in f:
            name, value = line.split(":", 1) if ":" in line and not line[0].isdigit() else ("", "0")
            if name in ("Rss", "Pss"):
                found[name.lower()] = int(value.split()[0]) / 1024
    return found


class Samples:
    def __init__(self):
        self.began, self.rows, self.pids = time.monotonic(), [], set()

    def take(self, supervisor, **more):
        try:
            processes = processes_of(supervisor)
            pid = processes[-1]
            memory, above = _memory(pid), _memory(supervisor)
            self.rows.append({"time": time.monotonic() - self.began, "pid": pid, **memory, "fds": descriptors_of(pid),
                              "watches": _watches(pid), "threads": _threads(pid), "supervisor_rss": above["rss"],
                              "supervisor_fds": descriptors_of(supervisor), "processes": len(processes), **more})
            self.pids.add(pid)
        except (FileNotFoundError, ProcessLookupError, IndexError, KeyError):
            return  # it ended while we looked

    def generations(self):
        return len(self.pids)

    def column(self, name):
        return [row[name] for row in self.rows]

    def plot(self):
        return "\n".join(f"{text} (least {min(self.column(name)):.1f}, most {max(self.column(name)):.1f}, "
                         f"last {self.column(name)[-1]:.1f})\n{_text_plot(self.column(name))}"
                         for name, text in FIGURES.items())

    def write_svg(self, path):
        parts = []
        for i, (name, text) in enumerate(FIGURES.items()):
            parts.append(_svg_plot(self.column("time"), self.column(name), text, i * SVG_HEIGHT))
        with open(path, "w", encoding="utf-8") as f:
            f.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{SVG_WIDTH}" height="{len(FIGURES) * SVG_HEIGHT}" '
                    f'font-family="sans-serif" font-size="11">\n' + "\n".join(parts) + "\n</svg>\n")


def _text_plot(values):
    most = max(max(values), 1e-9)
    columns = [max(values[i * len(values) // WIDTH:max((i + 1) * len(values) // WIDTH, i * len(values) // WIDTH + 1)])
               for i in range(min(WIDTH, len(values)))]
    return "\n".join("  |" + "".join("#" if value / most * HEIGHT > row - 0.5 else " " for value in columns).rstrip()
                     for row in range(HEIGHT, 0, -1))


def _svg_plot(times, values, text, top):
    most, last = max(max(values), 1e-9), max(times[-1], 1e-9)
    points = " ".join(f"{40 + t / last * (SVG_WIDTH - 60):.1f},{top + SVG_HEIGHT - 10 - v / most * (SVG_HEIGHT - 40):.1f}"
                      for t, v in zip(times, values))
    return (f'<text x="40" y="{top + 16}">{text}: 0 to {most:.1f}, {last:.0f} s</text>\n'
            f'<path d="M40 {top + 22}V{top + SVG_HEIGHT - 10}H{SVG_WIDTH - 20}" fill="none" stroke="#999"/>\n'
            f'<polyline points="{points}" fill="none" stroke="#036"/>')


def grown(samples, warm_up):
    """What is higher in the last third of the time after the warm-up than in the first third of it. The highest value of each
    third counts: after each reload a new process begins with little, so a mean depends on where the thirds lie."""
    rows = [row for row in samples.rows if row["time"] >= warm_up]
    if len(rows) < 6:
        return [f"only {len(rows)} samples after the warm-up"]
    third, complaints = len(rows) // 3, []
    for name, (share, constant) in ALLOWED.items():
        before = max(row[name] for row in rows[:third])
        after = max(row[name] for row in rows[-third:])
        if after > before * (1 + share) + constant:
            complaints.append(f"{FIGURES[name]}: {before:.1f}, later {after:.1f}")
    return complaints
