#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Have a program answer requests of every shape, so that one built with BRIGADE_TRAIN=generate learns which way its code goes.

    test/profile/train.py PROGRAM [REQUESTS]      so many requests of each shape (2,000)

build/trained runs it. What the program learned is written beside its object files when it ends.
"""
import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from profile_site import CONFIGURATIONS, SHAPES, Client, Server, Site, is_there  # noqa: E402

REFUSED = {"denied", "missing"}  # shapes that are answered by an error


def train(program, requests):
    """@return {shape: status of its answers}"""
    answered = {}
    with Site() as site:
        for configuration in CONFIGURATIONS:
            with Server(site, program, configuration) as server:
                for shape, (wanted, *_) in SHAPES.items():
                    if wanted == configuration and is_there(program, shape):
                        client = Client(server, shape)
                        answered[shape] = client.run(requests)
                        client.close()
    return answered


def main():
    program, requests = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    # The program, started by root, runs as a user who may not write to the build: it writes to a folder of its own.
    with tempfile.TemporaryDirectory(prefix="brigade-train-") as learned:
        os.chmod(learned, 0o777)
        os.environ["GCOV_PREFIX"] = learned
        answered = train(program, requests)
        files = [os.path.join(at, name) for at, _, names in os.walk(learned) for name in names if name.endswith(".gcda")]
        for path in files:
            shutil.copyfile(path, path[len(learned):])
    print(", ".join(f"{shape} {status}" for shape, status in answered.items()))
    print(f"{len(files)} files of the program's learned something")
    return 0 if files and all(status < 400 or shape in REFUSED for shape, status in answered.items()) else 1


if __name__ == "__main__":
    sys.exit(main())
