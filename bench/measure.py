# SPDX-License-Identifier: BSD-2-Clause
"""What the measuring programs of this folder share: labs, processes, MAD logs, results.

Times are CLOCK_MONOTONIC, as in the MAD logs. Nothing here judges a time.
"""
import argparse
import collections
import contextlib
import json
import math
import os
import platform
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))),
                                'lab'))

from heddle_lab import build, daemons, madlog, sims  # noqa: E402
from heddle_lab.errors import LabError  # noqa: E402
from heddle_lab.evidence import Scan  # noqa: E402
from heddle_lab.net import read_net  # noqa: E402
from heddle_lab.state import Lab  # noqa: E402

DEFAULT_FABRIC = 'pgft:3:16,16,8:1,16,4:1,1,1'
CALL_TIMEOUT_S = 300
LAST_LINES_S = 0.1  # a MAD log is written each 10 ms or so
NODE_INFO = 0x11
NAMES = {0x10: 'NodeDescription', NODE_INFO: 'NodeInfo', 0x12: 'SwitchInfo', 0x14: 'GUIDInfo',
         0x15: 'PortInfo', 0x16: 'PKeyTable', 0x17: 'SLtoVL', 0x18: 'VLArbitration', 0x19: 'LFT',
         0x1b: 'MFT', 0x20: 'SMInfo'}
METHODS = {madlog.GET: 'Get', madlog.SET: 'Set'}
SET_ACTIVE = 'PortInfo ACTIVE'
STATES = {'2': 'PortInfo INIT', '3': 'PortInfo ARMED', '4': SET_ACTIVE, '0': 'PortInfo no state'}


class BenchError(Exception):
    """One line for a person."""


# -- options and results -------------------------------------------------------------------


def parser(program, text):
    class Parser(argparse.ArgumentParser):
        def error(self, message):
            self.exit(2, f'{program}: {message}; see bench/{program} --help\n')

    p = Parser(prog=program, description=text)
    p.add_argument('--build', metavar='DIR', help='the build tree (default $HEDDLE_BUILD, else a '
                   'preset\'s)')
    p.add_argument('--fabric', default=DEFAULT_FABRIC, metavar='F',
                   help=f'a file or a generator (default {DEFAULT_FABRIC})')
    p.add_argument('--shards', type=int, default=3, metavar='N', help='default 3')
    p.add_argument('--sim', choices=list(sims.SIMS), default=sims.DEFAULT,
                   help=f'the simulator (default {sims.DEFAULT})')
    p.add_argument('--timeout', type=int, default=300, metavar='S',
                   help='for one bring-up or convergence (default 300)')
    p.add_argument('--json', metavar='FILE', help='append the results there, one object a line')
    return p


def parse(p, *counts):
    """The options with a build tree that exists; counts: names of those that must be positive."""
    o = p.parse_args()
    for name in ('timeout', *counts):
        if getattr(o, name) < 1:
            p.error(f'--{name} {getattr(o, name)}: at least 1')
    try:
        sims.SIMS[o.sim].check_shards(o.shards)
    except LabError as e:
        p.error(str(e))
    if os.path.exists(o.fabric):
        o.fabric = os.path.abspath(o.fabric)
    elif ':' not in o.fabric:
        p.error(f'--fabric {o.fabric}: no such file')
    if o.json and not os.path.isdir(os.path.dirname(os.path.abspath(o.json))):
        p.error(f'--json {o.json}: no such directory')
    try:
        o.build = build.find(o.build)
        for name in ('heddle', 'heddle-coordinator', 'heddle-shard', 'heddle-portscan'):
            build.program(o.build, name)
        build.preload(o.build)
    except LabError as e:
        p.error(str(e))
    return o


def main(function):
    """Runs it so that everything is taken down whatever ends it."""
    def on_signal(signum, _frame):
        raise SystemExit(128 + signum)
    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGHUP, on_signal)
    name = os.path.basename(sys.argv[0])
    try:
        return function()
    except (BenchError, LabError) as e:
        print(f'{name}: {e}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def machine():
    """What the figures depend on; no names."""
    with open('/proc/meminfo', encoding='ascii') as f:
        total_kb = int(next(line for line in f if line.startswith('MemTotal')).split()[1])
    model = ''
    with open('/proc/cpuinfo', encoding='utf-8', errors='replace') as f:
        for line in f:
            if line.startswith('model name'):
                model = line.partition(':')[2].strip()
                break
    return {'cores': os.cpu_count(), 'memory_mb': total_kb // 1024, 'cpu': model,
            'kernel': platform.release()}


def load():
    """The load average of the last minute."""
    return os.getloadavg()[0]


def fabric_name(options):
    """A generator as it is, a file without where it lies."""
    return os.path.basename(options.fabric)


def append(path, result):
    if path:
        with open(path, 'a', encoding='utf-8') as f:
            f.write(json.dumps(result) + '\n')


def spread(values):
    """min, median, p99 (nearest rank) and max."""
    ordered = sorted(values)
    rank = math.ceil(0.99 * len(ordered)) - 1
    return {'min': ordered[0], 'median': statistics.median(ordered), 'p99': ordered[rank],
            'max': ordered[-1]}


@contextlib.contextmanager
def workspace():
    directory = tempfile.mkdtemp(prefix='heddle-bench-')
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


# -- processes and MAD logs ----------------------------------------------------------------


def usage(pid):
    """CPU seconds so far (its threads included) and VmHWM of a living process."""
    try:
        with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as f:
            fields = f.read().rpartition(')')[2].split()
        with open(f'/proc/{pid}/status', encoding='utf-8', errors='replace') as f:
            hwm_kb = next(int(line.split()[1]) for line in f if line.startswith('VmHWM'))
    except (OSError, StopIteration):
        raise BenchError(f'process {pid} ended before it was measured') from None
    ticks = int(fields[11]) + int(fields[12])
    return {'cpu_s': ticks / os.sysconf('SC_CLK_TCK'), 'hwm_mb': hwm_kb / 1024}


def loud_events(logs):
    """Events of level warning and above in the daemons' logs: what a calm run has none of."""
    found = collections.Counter()
    for log in logs:
        with open(log, encoding='utf-8', errors='replace') as f:
            for line in f:
                m = re.search(r' level=(?:warning|error) .*?event=(\S+)', line)
                if m:
                    found[m[1]] += 1
    return dict(found.most_common())


class Traffic:
    """What one manager sent until end_ns, by the MAD logs of its processes."""

    def __init__(self, logs, begin_ns, end_ns):
        self.counts = collections.Counter()
        self.timeouts = 0
        self._begin_ns = begin_ns
        self.answered_ms = {}  # what was answered -> when for the first and the last time
        for log in logs:
            mads = [m for m in madlog.read(log, begin_ns) if m.ns <= end_ns]
            self._count(mads)
            self._answers(mads)
        self.answered_ms = dict(sorted(self.answered_ms.items(), key=lambda item: item[1]))
        self.active_s = self.answered_ms.get(SET_ACTIVE, (0, 0))[1] / 1000

    def _count(self, mads):
        for m in mads:
            if m.cls not in (madlog.CLASS_LID, madlog.CLASS_DIRECT):
                continue
            if m.kind == 'tx' and m.method in METHODS:
                self.counts[self._name(m)] += 1
            elif m.kind == 'to':
                self.timeouts += 1

    def _answers(self, mads):
        for m in mads:
            if m.attribute in (NODE_INFO, madlog.LFT) and m.kind == 'rx' and \
                    madlog.is_smp(m, madlog.GET_RESPONSE, m.attribute):
                self._answered(NAMES[m.attribute], m.ns)
        for request, answer in madlog.port_sets_answered(mads):
            what = STATES.get(request.extra.get('state'))
            if what:
                self._answered(what, answer.ns)

    def _answered(self, what, ns):
        ms = round((ns - self._begin_ns) / 1e6, 1)
        first, last = self.answered_ms.get(what, (ms, ms))
        self.answered_ms[what] = (min(first, ms), max(last, ms))

    @staticmethod
    def _name(mad):
        return f'{METHODS[mad.method]} {NAMES.get(mad.attribute, hex(mad.attribute))}'

    @property
    def smps(self):
        return sum(self.counts.values())


# -- a lab ---------------------------------------------------------------------------------


class Cluster:
    """A heddle lab, called as a person would call it."""

    def __init__(self, options, directory):
        self.options = options
        self.dir = directory
        self.program = build.program(options.build, 'heddle')

    def call(self, *arguments, timeout_s=CALL_TIMEOUT_S):
        env = dict(os.environ, HEDDLE_BUILD=self.options.build)
        try:
            done = subprocess.run([self.program, *arguments], env=env, stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, errors='replace',
                                  timeout=timeout_s, check=False)
        except subprocess.TimeoutExpired:
            raise BenchError(f'heddle {" ".join(arguments[:2])} did not end within {timeout_s} s') \
                from None
        if done.returncode != 0:
            text = (done.stderr.strip() or done.stdout.strip() or f'status {done.returncode}')
            raise BenchError(f'heddle {" ".join(arguments[:2])}: {text.splitlines()[-1]}\n'
                             f'{self.last_lines()}'.rstrip())
        return done.stdout

    def lab(self, verb, *arguments):
        return self.call('lab', verb, '--dir', self.dir, *arguments)

    def up(self, fabric, shards):
        self.lab('up', fabric, '--sim', self.options.sim, '--shards', str(shards))
        self.net = read_net(os.path.join(self.dir, 'fabric.net'))
        self.begin_ns = min((self.daemons[n]['started_ns'] for n in self.shards), default=None)

    def converge(self):
        """Waits for it; the monotonic time in ns."""
        limit = self.options.timeout
        self.call('status', '--dir', self.dir, '--wait', 'converged', '--timeout', str(limit),
                  timeout_s=limit + 30)
        return time.monotonic_ns()

    def down(self):
        if os.path.exists(os.path.join(self.dir, 'state.json')):
            self.lab('down')

    @property
    def daemons(self):
        return Lab(self.dir).load().daemons

    def environment(self, node, mad_log):
        """Of a process of our own that sits on this node."""
        return daemons.environment(Lab(self.dir).load(), node, mad_log)

    @property
    def shards(self):
        return [n for n in self.daemons if n.startswith('shard-')]

    def last_lines(self):
        if not os.path.exists(os.path.join(self.dir, 'state.json')):
            return ''
        lab = Lab(self.dir).load()
        return ''.join(daemons.last_lines(lab, name) for name in lab.daemons)

    def scan(self):
        """Every PortInfo and table, read by a client of its own."""
        return Scan(self.lab('run', '--timeout', str(CALL_TIMEOUT_S - 10), '--',
                             'heddle-portscan', '--lft'))

    def lid(self, name, scan):
        return scan.lid_of_node(self.net.nodes[self.daemons[name]['node']].guid)


@contextlib.contextmanager
def cluster(options, directory, fabric, shards=None):
    """A lab that is up (not yet converged) and is taken down in the end. shards 0: a fabric alone."""
    c = Cluster(options, directory)
    try:
        c.up(fabric, options.shards if shards is None else shards)
        yield c
    finally:
        c.down()
