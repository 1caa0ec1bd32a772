# SPDX-License-Identifier: MIT
"""How long each job took the last time, on this machine: the long ones start first."""

import json
import os


def path():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "paccel", "job-seconds.json")


class History:
    """{job: seconds}. A file that cannot be read or written costs the order only."""

    def __init__(self):
        try:
            with open(path(), encoding="utf-8") as file:
                self.seconds = {str(name): float(value) for name, value in json.load(file).items()}
        except (OSError, ValueError, AttributeError, TypeError):
            self.seconds = {}

    def of(self, name, unknown):
        return self.seconds.get(name, unknown)

    def note(self, name, seconds):
        self.seconds[name] = round(seconds, 1)

    def save(self):
        try:
            os.makedirs(os.path.dirname(path()), exist_ok=True)
            temporary = f"{path()}.{os.getpid()}"
            with open(temporary, "w", encoding="utf-8") as file:
                json.dump(self.seconds, file, indent=1, sort_keys=True)
            os.replace(temporary, path())
        except OSError:
            pass
