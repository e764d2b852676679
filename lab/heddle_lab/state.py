# SPDX-License-Identifier: BSD-2-Clause
"""DIR/state.json: what was started, where, and how to start it again."""
import contextlib
import fcntl
import json
import os

from heddle_lab import procs, sims
from heddle_lab.errors import LabError, Refused

FILE = 'state.json'
LOCK = 'lock'


def _is(kind, *values):
    return all(isinstance(v, kind) for v in values)


def _is_list_of(kind, values):
    return _is(list, values) and _is(kind, *values)


def _is_proc(p):
    return p is None or (_is(dict, p) and _is(int, p.get('pid'), p.get('start')) and p['pid'] > 0)


def _is_daemon(name, d):
    return (_is(dict, d) and _is(str, d.get('cwd'), d.get('log'))
            and _is((str, type(None)), d.get('mad_log', 0), d.get('node', 0))
            and _is_list_of(str, d.get('argv')) and d['argv'] != []
            and _is_list_of(int, d.get('ports')) and _is_proc(d.get('proc', 0))
            and (name not in sims.SIMS or sims.SIMS[name].is_record(d))
            and _is(int, d.get('started_ns', 0), d.get('log_from', 0)))


def _is_cable(c):
    return (_is_list_of(list, c) and len(c) == 2
            and all(len(end) == 2 and _is(str, end[0]) and _is(int, end[1]) for end in c))


def _is_state(data):
    """Whether a lab wrote this: whoever edits the file must not send us to another process."""
    return (_is(dict, data)
            and _is(str, *(data.get(k) for k in ('id', 'sockname', 'net', 'build', 'sim')))
            and data['id'] != '' and data['sim'] in sims.SIMS and _is(dict, data.get('daemons'))
            and all(_is_daemon(n, d) for n, d in data['daemons'].items())
            and _is(list, data.get('links_down')) and all(map(_is_cable, data['links_down']))
            and _is_list_of(str, data.get('nodes_down')))


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
        except OSError as e:
            raise LabError(f'{self.path(FILE)}: cannot be read: {e.strerror}') from e
        except (ValueError, RecursionError):
            self._refuse('it is no JSON')
        if not _is_state(self.data):
            self._refuse('it is not what a lab wrote')
        return self

    def _refuse(self, why):
        raise LabError(f'{self.path(FILE)}: {why}; move the directory away, then end what may '
                       f'still run with: heddle lab down --dir {self.dir}') from None

    def save(self):
        temporary = self.path(FILE + '.new')
        with open(temporary, 'w', encoding='utf-8') as f:
            json.dump(self.data, f, indent=1)
            f.write('\n')
        os.replace(temporary, self.path(FILE))

    @contextlib.contextmanager
    def locked(self):
        """One command that changes things at a time."""
        with open(self.path(LOCK), 'a', encoding='utf-8') as f:
            fcntl.flock(f, fcntl.LOCK_EX)
            yield

    @property
    def daemons(self):
        return self.data['daemons']

    @property
    def simulator(self):
        return sims.SIMS[self.data['sim']]

    def daemon(self, name):
        if name not in self.daemons:
            raise Refused(f'no daemon "{name}" in {self.dir}; there are '
                          f'{", ".join(self.daemons)}')
        return self.daemons[name]

    def running(self):
        return [n for n, d in self.daemons.items() if procs.alive(d['proc'])]

    def need_running(self):
        """Refuses when the lab is down or its simulator is dead."""
        sim = self.daemons.get(self.simulator.name)
        if sim is None or not procs.alive(sim['proc']):
            raise LabError(f'the lab in {self.dir} is not running: no simulator; '
                           'start it with: heddle lab up', 1)


def default_dir():
    return os.environ.get('HEDDLE_LAB_DIR') or 'heddle-lab'
