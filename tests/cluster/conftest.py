# SPDX-License-Identifier: BSD-2-Clause
"""Whole clusters over a simulator: coordinator and shards as they are shipped, run by `heddle lab`.

$HEDDLE_TEST_SIM names the simulator: heddle-sim (the default) or ibsim, the independent one.
"""
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path.insert(0, os.path.join(ROOT, 'lab'))

from heddle_lab import procs  # noqa: E402
from heddle_lab.evidence import TRACE_SCRIPT, Scan, Takeover, check_tables  # noqa: E402
from heddle_lab.net import read_net  # noqa: E402
from heddle_lab.state import Lab  # noqa: E402

BUILD = os.environ.get('HEDDLE_BUILD', os.path.join(ROOT, 'build', 'release'))
HEDDLE = os.path.join(BUILD, 'bin', 'heddle')
SIM = os.environ.get('HEDDLE_TEST_SIM', 'heddle-sim')
SANITIZED = os.path.basename(BUILD) in ('asan', 'tsan')
PATIENCE = 3 if SANITIZED else 1
CONVERGE_TIMEOUT_S = 60 * PATIENCE
CALL_TIMEOUT_S = 120 * PATIENCE
SETTLE_S = 0.7


def fabrics_dir():
    return os.environ.get('HEDDLE_FABRICS') or os.path.join(ROOT, '..', 'shared', 'fabrics')


def call(*argv, timeout=CALL_TIMEOUT_S, **env):
    """Runs a program; never for ever."""
    return subprocess.run(argv, env={**os.environ, **env}, text=True, errors='replace',
                          capture_output=True, timeout=timeout, check=False,
                          stdin=subprocess.DEVNULL)


class Cluster:
    def __init__(self, directory):
        self.dir = str(directory)

    # -- commands

    def heddle(self, *arguments):
        return call(HEDDLE, *arguments, '--dir', self.dir)

    def lab(self, verb, *arguments, check=True):
        done = call(HEDDLE, 'lab', verb, '--dir', self.dir, *arguments)
        if check:
            assert done.returncode == 0, f'lab {verb}: {done.stdout}{done.stderr}\n{self.logs()}'
        return done.stdout

    def up(self, fabric, shards=3, *options):
        self.lab('up', fabric, '--sim', SIM, '--shards', str(shards), *options)
        self.begin_ns = min(d['started_ns'] for n, d in self.daemons.items()
                            if n.startswith('shard-'))
        self.net = read_net(os.path.join(self.dir, 'fabric.net'))
        return self

    def converge(self, timeout_s=CONVERGE_TIMEOUT_S):
        """Waits for it; the seconds since the shards were started."""
        done = call(HEDDLE, 'status', '--dir', self.dir, '--wait', 'converged', '--timeout',
                    str(timeout_s), timeout=timeout_s + 30)
        assert done.returncode == 0, f'not converged: {done.stdout}{done.stderr}\n{self.logs()}'
        return (time.monotonic_ns() - self.begin_ns) / 1e9

    def run(self, *argv):
        return self.lab('run', '--timeout', str(CALL_TIMEOUT_S - 10), '--', *argv)

    # -- what is seen

    @property
    def daemons(self):
        return Lab(self.dir).load().daemons

    @property
    def shards(self):
        return [n for n in self.daemons if n.startswith('shard-')]

    def running(self):
        return [n for n in self.shards if procs.alive(self.daemons[n]['proc'])]

    def logs(self):
        """The last lines of each daemon, for the report of a failure."""
        text = ''
        if not os.path.exists(os.path.join(self.dir, 'state.json')):
            return text
        for name, daemon in self.daemons.items():
            if os.path.exists(daemon['log']):
                with open(daemon['log'], encoding='utf-8', errors='replace') as f:
                    text += ''.join(f'{name}: {line}' for line in f.readlines()[-8:])
        return text

    def sanitizer_reports(self):
        """What a sanitizer said of a daemon or the simulator, leaks at the end included."""
        found = ''
        for name, daemon in self.daemons.items():
            with open(daemon['log'], encoding='utf-8', errors='replace') as f:
                text = f.read()
            at = re.search(r'Sanitizer|runtime error:', text)
            if at:
                found += f'{name}: {text[max(0, at.start() - 100):at.start() + 3000]}\n'
        return found

    def scan(self):
        return Scan(self.run('heddle-portscan', '--lft'))

    def lid(self, name, scan):
        return scan.lid_of_node(self.net.nodes[self.daemons[name]['node']].guid)

    def mad_logs(self, names):
        return [self.daemons[n]['mad_log'] for n in names]

    def problems(self):
        scan = self.scan()
        found = scan.not_active() + scan.bad_lids()
        if scan.unanswered:
            found.append(f'{scan.unanswered} requests were not answered')
        return found or check_tables(scan)

    def expect_whole(self):
        """Everything that must hold of a converged fabric, in the end."""
        problems = wait_for(lambda: not self.problems(), 30 * PATIENCE) or self.problems()
        assert problems is True or problems == [], problems

    def check_routes(self):
        """The project's checker on the plan of the view, and on the tables in the switches."""
        tables = os.path.join(self.dir, 'tables.json')
        with open(tables, 'w', encoding='utf-8') as f:
            f.write(self.run('heddle-portscan', '--lft'))
        for of in ((), ('--lfts', tables)):
            done = self.heddle('route', 'check', *of)
            assert done.returncode == 0, f'{of}: {done.stdout}{done.stderr}'

    def trace(self, count):
        """ibtracert between random pairs; the seed is printed."""
        seed = random.randrange(1 << 32)
        print(f'pairs of random.Random({seed})')
        pairs = self.scan().random_pairs(count, random.Random(seed))
        failed = self.run('sh', '-c', TRACE_SCRIPT, 'trace', *pairs).split()
        assert failed == []

    def domains(self):
        """name -> (owner, epoch), as heddle tells it."""
        done = self.heddle('domain', 'list', '--json')
        assert done.returncode == 0, done.stderr
        return {d['name']: (d['owner'], d['epoch']) for d in json.loads(done.stdout)}

    def records(self):
        return self.run('saquery', '-N').count('NodeRecord dump')

    # -- deeds

    def kill_and_judge(self, victim):
        """SIGKILL, then the judgement from outside."""
        before = self.scan()
        survivors = [n for n in self.running() if n != victim]
        live = {self.lid(n, before) for n in survivors}
        dead = self.lid(victim, before)
        killed_ns = int(self.lab('kill', victim).rpartition('monotonic_ns=')[2])
        time.sleep(SETTLE_S)  # scans load the simulator, which the takeover needs too
        wait_for(lambda: all(p['sm_lid'] != dead for p in self.scan().ports.values()),
                 20 * PATIENCE)
        after = self.scan()
        time.sleep(0.2)  # the last lines of the MAD logs
        return Takeover(before, after, dead, live, self.mad_logs(survivors), killed_ns)


def wait_for(condition, timeout_s, pause_s=0.2):
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause_s)
    return True


@pytest.fixture(scope='module')
def make_cluster(tmp_path_factory):
    """Makes clusters that are taken down at the end of the module."""
    for name in ('heddle', 'heddle-shard', 'heddle-coordinator', 'heddle-portscan', 'heddle-sim'):
        if not os.path.exists(os.path.join(BUILD, 'bin', name)):
            pytest.skip(f'needs {BUILD}/bin/{name}')
    if SIM == 'ibsim' and shutil.which('ibsim') is None:
        pytest.skip('needs ibsim')
    made = []

    def make(fabric, shards=3, *options):
        cluster = Cluster(tmp_path_factory.mktemp('cluster') / 'lab')
        made.append(cluster)
        return cluster.up(fabric, shards, *options)

    yield make
    for cluster in made:
        if os.path.exists(os.path.join(cluster.dir, 'state.json')):
            cluster.lab('down')
            assert procs.stragglers(Lab(cluster.dir).load().data['id']) == []
            assert cluster.sanitizer_reports() == ''

