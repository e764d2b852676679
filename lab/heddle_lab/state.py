# SPDX-License-Identifier: BSD-2-Clause
"""DIR/state.json: what was started, where, and how to start it again."""
import contextlib
import fcntl
import json
import os

from heddle_lab import procs
from heddle_lab.errors import LabError, Refused

FILE = 'state.json'


class Lab:
    """A lab's directory. data is what state.json holds:
    id, sockname, net, build, sim, daemons: {name: {argv, env, cwd, log, node, proc}}, down: bool,
    links_down: [[id, port]], nodes_down: [id]."""

    def __init__(self, directory, data=None):
        self.dir = os.path.abspath(directory)
        self.data = data

    def path(self, *parts):
        return os.path.join(self.dir, *parts)

    def load(self):
        try:
            with open(self.path(FILE), encoding='utf-8') as f:
                self.data = json.load(f)
        except FileNotFoundError:
            raise Refused(f'{self.dir} is no lab; start one with: heddle lab up FABRIC '
                          f'--dir {self.dir}') from None
        except (OSError, ValueError) as e:
            raise LabError(f'{self.path(FILE)}: cannot be read: {e}') from e
        return self

    def save(self):
        temporary = self.path(FILE + '.new')
        with open(temporary, 'w', encoding='utf-8') as f:
            json.dump(self.data, f, indent=1)
            f.write('\n')
        os.replace(temporary, self.path(FILE))

    @contextlib.contextmanager
    def locked(self):
        """One command that changes things at a time."""
        with open(self.path('lock'), 'a', encoding='utf-8') as f:
            fcntl.flock(f, fcntl.LOCK_EX)
            yield

    @property
    def daemons(self):
        return self.data['daemons']

    def daemon(self, name):
        if name not in self.daemons:
            raise Refused(f'no daemon "{name}" in {self.dir}; there are '
                          f'{", ".join(self.daemons)}')
        return self.daemons[name]

    def running(self):
        return [n for n, d in self.daemons.items() if procs.alive(d['proc'])]

    def need_running(self):
        """Refuses when the lab is down or its simulator is dead."""
        sim = self.daemons.get('ibsim')
        if sim is None or not procs.alive(sim['proc']):
            raise LabError(f'the lab in {self.dir} is not running: no simulator; '
                           'start it with: heddle lab up', 1)


def default_dir():
    return os.environ.get('HEDDLE_LAB_DIR') or 'heddle-lab'
