#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs heddle-sim for long under random faults and load, and looks whether anything is left over.

A simulator with modelled hosts, pings, a judge's log, service times, VL15 buffers and lossy links;
OpenSM, with an M_Key, as its manager, killed each 5 minutes; tools at random hosts, killed and
stopped at random; clients that flood, and that read nothing; random faults. A sample each 10 s. At
the end the faults are mended, and all must be as at the start. Prints its seed: what is started is
the same with the same one, when it happens is not.

The simulator may be of another build than the clients' preload: with one built for
AddressSanitizer, what it reports, leaks among it, fails the run. Status 0 = it holds, 1 = it does
not, 77 = skipped.
"""
import argparse
import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'conformance'))

import fabrics  # noqa: E402
import simulators  # noqa: E402
from loads import Flooder, Manager, Tools  # noqa: E402

SAMPLE_S, TICK_S = 10, 0.1
PINGS, PING_RATE, BROADCAST_MLID = 8, 20, '0xc000'
HOSTS = 'groups=2 services=1 paths=4 inform=yes spread=50ms lease=60s'
SERVICE = 'all 20us buffer=16'
DISTURBANCE = 'all loss=0.05% delay=20us jitter=200us duplicate=0.1% reorder=0.5%'
MEND_TIMEOUT_S, SETTLE_TIMEOUT_S, QUIET_TIMEOUT_S = 60, 300, 60
# Memory counts as constant when the largest sample of the last quarter is not above the largest up
# to the end of the warm-up by more than a twentieth and 4 MB: room for fragments and for the peak
# of a burst. Memory is RssAnon: pages of files come and go with the machine's needs.
# Under AddressSanitizer the quarantine and the free blocks of each size fill up over many minutes
# before they are used again: that warm-up is longer.
# A run that is shorter than JUDGED_WARM_UPS times that is not judged by it.
WARM_UP_S, SANITIZED_WARM_UP_S, GROWTH, GROWTH_KB, JUDGED_WARM_UPS = 300, 1200, 0.05, 4096, 2
# A small quarantine, or what AddressSanitizer keeps of freed blocks hides what grows.
SANITIZER = 'detect_leaks=1:quarantine_size_mb=16:malloc_context_size=12:log_path='
SKIPPED = 77


class Soaked(simulators.Simulator):
    """heddle-sim with the options of a soak."""

    def __init__(self, options, fabric, directory):
        self.seed, self.program = options.seed, os.path.join(options.build, 'bin', 'heddle-sim')
        super().__init__(simulators.HEDDLE_SIM, fabric, directory, options.build, options.preload)

    def _argv(self, build):
        return [self.program, '--name', self.name, '--interactive', '--seed', str(self.seed),
                '--train-ms', '20', '--log', os.path.join(self.directory, 'judge.log'),
                '--hosts', HOSTS, self.fabric.path]

    def environment(self, host):
        env = super().environment(host)
        if host is None:
            env['ASAN_OPTIONS'] = SANITIZER + os.path.join(self.directory, 'sanitizer')
            env['UBSAN_OPTIONS'] = 'print_stacktrace=1:log_path=' + \
                os.path.join(self.directory, 'sanitizer')
        return env

    def numbers(self, command):
        """name -> number, of all name=number in the answer; for `clients` of its totals."""
        text = self.ask(command)
        if command == 'clients':
            text = text.splitlines()[-1]
        return {k: int(v) for k, v in re.findall(r'^(?:\w+: )?(\w+)=(-?\d+)$', text, re.M)} | \
            {k: int(v) for line in re.findall(r'^(?:hosts|judge): (.*)$|^(clients=.*)$', text, re.M)
             for k, v in re.findall(r'(\w+)=(-?\d+)', ' '.join(line))}

    def queued(self):
        """Packets that wait for clients, and packets that were dropped for them."""
        lines = self.ask('clients').splitlines()[:-1]
        found = [dict(re.findall(r'(\w+)=(\d+)', line)) for line in lines]
        return sum(int(f['queued']) for f in found), sum(int(f['dropped']) for f in found)

    def memory_kb(self):
        with open(f'/proc/{self.process.pid}/status', encoding='ascii') as f:
            return int(re.search(r'RssAnon:\s+(\d+)', f.read())[1])

    def cpu_s(self):
        with open(f'/proc/{self.process.pid}/stat', encoding='ascii') as f:
            fields = f.read().rsplit(')', 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


class Soak:
    def __init__(self, options, directory):
        self.options, self.directory = options, directory
        self.rand = random.Random(options.seed)
        self.fabric = fabrics.make(options.tools_build, options.fabric, directory)
        self.sim = Soaked(options, self.fabric, os.path.join(directory, 'sim'))
        self.hosts = [n.id for n in self.fabric.net.hosts if n.id != self.fabric.manager]
        self.manager = Manager(self.sim, self.fabric.manager)
        self.tools = Tools(self.sim, self.hosts, self.rand)
        self.flooder = Flooder(self.sim.name, self.hosts, self.rand)
        self.samples, self.failures = [], []
        self.begin = time.monotonic()

    def say(self, text):
        print(f'{time.monotonic() - self.begin:7.1f} {text}', flush=True)

    def check(self, what, is_good, detail=''):
        self.say(f'{"ok  " if is_good else "FAIL"} {what} {detail}'.rstrip())
        if not is_good:
            self.failures.append(what)

    def wait(self, condition, seconds):
        """Waits for it, while the manager is kept alive; whether it came."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                return False
            self.manager.tend()
            time.sleep(0.2)
        return True

    # -- the fabric ----------------------------------------------------------------------------

    def is_whole(self):
        s = self.sim.numbers('status')
        return not (s['without_power'] or s['links_down'] or s['unplugged'] or
                    s['random_faults_pending'])

    def is_configured(self):
        s = self.sim.numbers('status')
        return s['ports_active'] == 2 * s['links_up'] and not s['links_down'] and \
            s['registered'] == s['hosts']

    def bring_up(self):
        self.manager.start()
        self.check('OpenSM says that the subnet is up',
                   self.wait(self.manager.is_up, SETTLE_TIMEOUT_S))
        self.check('all ports are ACTIVE and all hosts registered',
                   self.wait(self.is_configured, SETTLE_TIMEOUT_S))

    def start_pings(self):
        for _ in range(PINGS):
            a, b = self.rand.sample(self.hosts, 2)
            self.sim.ask(f'ping start {a} {b} rate={PING_RATE}')
        self.sim.ask(f'ping start {self.hosts[0]} mlid={BROADCAST_MLID} rate=1')

    # -- the load ------------------------------------------------------------------------------

    def sample(self):
        s, c = self.sim.numbers('status'), self.sim.numbers('clients')
        queued, dropped = self.sim.queued()
        now, cpu = time.monotonic() - self.begin, self.sim.cpu_s()
        self.samples.append((now, self.sim.memory_kb()))
        drops = sum(v for k, v in s.items() if k.startswith('dropped_'))
        self.say(f'anon_kb={self.samples[-1][1]} cpu_s={cpu:.1f} smps={s["smps"]} gmps={s["gmps"]} '
                 f'drops={drops} mkey={s["dropped_mkey"]} buffer={s["dropped_buffer"]} '
                 f'under_way={s["under_way"]} clients={c["clients"]} queued={queued} '
                 f'queue_drops={dropped} faults={s["random_faults"]} '
                 f'broken={s["random_faults_pending"]} active={s["ports_active"]} '
                 f'registered={s["registered"]}/{s["hosts"]} sets={s["sets"]} '
                 f'managers={self.manager.starts} died={self.manager.died} '
                 f'tools={self.tools.started} killed={self.tools.killed} '
                 f'stopped={self.tools.stopped} hung={self.tools.hung} floods={self.flooder.sent}')

    def load(self):
        end = time.monotonic() + self.options.minutes * 60
        next_sample = time.monotonic()
        self.sim.ask(f'service {SERVICE}')
        self.sim.ask(f'disturb {DISTURBANCE}')
        self.sim.ask(f'random {self.options.rate}')
        while time.monotonic() < end:
            self.sim.check_alive()
            self.manager.tend()
            self.tools.tend()
            self.flooder.tend()
            if time.monotonic() >= next_sample:
                next_sample += SAMPLE_S
                self.sample()
            time.sleep(TICK_S)
        self.sample()

    # -- the end -------------------------------------------------------------------------------

    def settle(self):
        self.flooder.close()
        self.tools.close()
        self.sim.ask('random off')
        self.sim.ask('disturb all')
        self.check('the fabric is whole again', self.wait(self.is_whole, MEND_TIMEOUT_S))
        # a new one, that believes nothing of what the old one wrote
        self.manager.stop()
        self.bring_up()

    def quieten(self):
        streams = self.sim.ask('ping status')
        self.say('pings:\n' + streams)
        self.check('pings were answered, and lost ones have a cause',
                   all(int(n) for n in re.findall(r'answered=(\d+)', streams)))
        for command in ('ping stop', 'hosts stop', 'log off'):
            self.sim.ask(command)
        self.manager.stop()

        def is_quiet():
            return self.sim.numbers('clients')['clients'] == 0 and \
                self.sim.numbers('status')['under_way'] == 0
        self.check('no client and no packet is left', self.wait_alone(is_quiet, QUIET_TIMEOUT_S),
                   self.sim.ask('clients').splitlines()[-1])
        self.say('status:\n' + self.sim.ask('status'))

    def wait_alone(self, condition, seconds):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                return False
            time.sleep(0.2)
        return True

    def check_memory(self):
        loaded = [(t - self.samples[0][0], kb) for t, kb in self.samples]
        length = loaded[-1][0]
        warm = SANITIZED_WARM_UP_S if is_sanitized(self.sim.program) else WARM_UP_S
        judged = length >= warm * JUDGED_WARM_UPS
        warm = min(warm, length / 3)
        before = max(kb for t, kb in loaded if t <= warm + 1)
        after = max(kb for t, kb in loaded if t >= length * 3 / 4)
        text = f'up to {warm:.0f} s: {before} kB, last quarter: {after} kB'
        if not judged:
            self.say(f'memory is not judged in so short a run; {text}')
        else:
            self.check('memory is constant', after <= before * (1 + GROWTH) + GROWTH_KB, text)

    def end(self):
        stderr = self.sim.output + '.err'
        self.sim.process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.sim.process.wait(simulators.STOP_TIMEOUT_S * 3)
        self.check('heddle-sim ended with status 0', self.sim.process.returncode == 0,
                   f'status {self.sim.process.returncode}')
        reports = [f for f in os.listdir(self.sim.directory) if f.startswith('sanitizer')]
        with open(stderr, encoding='utf-8', errors='replace') as f:
            text = f.read()
        self.check('no report of a sanitizer',
                   not reports and 'Sanitizer' not in text and 'runtime error' not in text,
                   ' '.join(reports))

    def run(self):
        self.bring_up()
        self.start_pings()
        self.load()
        self.settle()
        self.quieten()
        self.check_memory()
        self.end()

    def close(self):
        with contextlib.suppress(OSError):
            self.flooder.close()
        self.tools.close()
        self.sim.close()


def is_sanitized(program):
    """Whether it is built with AddressSanitizer."""
    with open(program, 'rb') as f:
        return b'__asan_init' in f.read()


def parse():
    build = os.environ.get('HEDDLE_BUILD', os.path.join(fabrics.ROOT, 'build', 'release'))
    p = argparse.ArgumentParser(prog='soak.py', description=__doc__.splitlines()[0])
    p.add_argument('--build', default=build, help="the simulator's (default $HEDDLE_BUILD)")
    p.add_argument('--tools-build', help="of heddle, the preload and sim_rate, without a sanitizer "
                   '(default: that of --build)')
    p.add_argument('--minutes', type=float, default=60)
    p.add_argument('--fabric', default='pgft:2:8,6:1,4:1,1', help='file or generator')
    p.add_argument('--rate', type=float, default=0.3, help='random faults a second (default 0.3)')
    p.add_argument('--seed', type=int, default=int(os.environ.get('HEDDLE_SEED', '0')) or
                   random.SystemRandom().randrange(1, 1 << 31))
    p.add_argument('--keep', metavar='DIR', help='a new directory to write to, that is kept')
    options = p.parse_args()
    options.tools_build = options.tools_build or options.build
    options.preload = os.path.join(options.tools_build, 'lib', 'libheddle-umad.so')
    return options


def missing(options):
    """Why it cannot run here, or None."""
    for name in ('opensm', 'smpquery', 'saquery', 'ibnetdiscover', 'perfquery', 'sminfo'):
        try:
            simulators.find_program(name)
        except simulators.Failed as e:
            return str(e)
    for path in (os.path.join(options.build, 'bin', 'heddle-sim'), options.preload):
        if not os.path.exists(path):
            return f'{path} is not built'
    if is_sanitized(options.preload):
        return f'{options.preload} is built for a sanitizer; name another --tools-build'
    return None


def main():
    options = parse()
    reason = missing(options)
    if reason:
        print(f'skipped: {reason}')
        return SKIPPED
    directory = options.keep or tempfile.mkdtemp(prefix='heddle-soak-')
    if options.keep:
        try:
            os.makedirs(directory)
        except OSError as e:
            sys.exit(f'soak.py: --keep {directory}: {e.strerror}')
    program = os.path.join(options.build, 'bin', 'heddle-sim')
    print(f'seed={options.seed} fabric={options.fabric} rate={options.rate} '
          f'minutes={options.minutes} sanitizer={"yes" if is_sanitized(program) else "no"}\n'
          f'again: {sys.argv[0]} --build {options.build} --tools-build {options.tools_build} '
          f'--fabric {options.fabric} --rate {options.rate} --minutes {options.minutes} '
          f'--seed {options.seed}', flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    soak = None
    try:
        soak = Soak(options, directory)
        soak.run()
        failures = soak.failures
    except simulators.Failed as e:
        failures = [str(e)]
    finally:
        if soak:
            soak.close()
    print('it holds' if not failures else 'it does not hold: ' + '; '.join(failures) +
          f'\nkept: {directory}', flush=True)
    if not failures and not options.keep:
        shutil.rmtree(directory)
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
