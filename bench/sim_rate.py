#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compares heddle-sim with ibsim: SMPs a second, CPU of the simulator for each, start, memory.

Both load the same fabric in turn, several rounds, and bench/sim_rate asks them; medians count. CPU
is that of the simulator's process, kernel work for its sockets included. Ends what it started.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

DEFAULT_FABRIC = 'pgft:3:16,16,8:1,16,4:1,1,1'
START_TIMEOUT_S = 120
RATE_TIMEOUT_S = 300
NODE_ROOM, SWITCH_ROOM, PORT_ROOM, LFT_ROOM = 60000, 5000, 400000, 49152  # ibsim's limits
SIMS = ('ibsim', 'heddle-sim')


class BenchError(Exception):
    """One line for a person."""


def memory_mb(pid, field):
    with open(f'/proc/{pid}/status', encoding='ascii') as f:
        for line in f:
            if line.startswith(field):
                return int(line.split()[1]) / 1024
    raise BenchError(f'/proc/{pid}/status has no {field}')


class Simulator:
    """A running simulator; start_s is from its start to the word that it is ready."""

    def __init__(self, kind, build, net, name, directory):
        self.kind, self.name = kind, name
        if kind == 'ibsim':
            command = ['ibsim', '-s', '-N', str(NODE_ROOM), '-S', str(SWITCH_ROOM),
                       '-P', str(PORT_ROOM), '-L', str(LFT_ROOM), net]
        else:
            command = [os.path.join(build, 'bin', 'heddle-sim'), net]
        self.log = os.path.join(directory, f'{name}.log')
        begin = time.monotonic()
        with open(self.log, 'wb') as log:
            # ibsim reads commands: a pipe that stays open.
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log,
                                            env=dict(os.environ, IBSIM_SOCKNAME=name))
        self.wait()
        self.start_s = time.monotonic() - begin

    def wait(self):
        end = time.monotonic() + START_TIMEOUT_S
        while True:
            with open(self.log, 'rb') as f:
                text = f.read()
            if b'ready' in text:
                return
            if self.process.poll() is not None or time.monotonic() > end:
                self.stop()
                raise BenchError(f'{self.kind} did not start: {text[-200:]!r}')
            time.sleep(0.002)

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdin.close()


def rate(simulator, build, options, window):
    command = [os.path.join(build, 'bin', 'sim_rate'), '--name', simulator.name,
               '--pid', str(simulator.process.pid), '--count', str(options.count),
               '--window', str(window)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=RATE_TIMEOUT_S, check=False)
    if done.returncode:
        raise BenchError(f'sim_rate on {simulator.kind}: {done.stderr.strip()}')
    result = json.loads(done.stdout)
    if result['lost'] or result['wrong']:
        raise BenchError(f'{simulator.kind}: {result["lost"]} lost, {result["wrong"]} wrong')
    return result


def one_round(options, net, number, directory):
    """What each simulator did in one round, side by side in time, one at a time at work."""
    running, results = [], {}
    try:
        for kind in SIMS:
            name = f'simrate-{os.getpid()}-{number}-{kind}'
            running.append(Simulator(kind, options.build, net, name, directory))
        for s in running:
            results[s.kind] = {'start_s': s.start_s, 'windows': {}}
        for window in options.windows:
            for s in running:
                r = rate(s, options.build, options, window)
                results[s.kind]['windows'][window] = r
        for s in running:
            results[s.kind]['peak_mb'] = memory_mb(s.process.pid, 'VmHWM')
    finally:
        for s in running:
            s.stop()
    return results


def summary(rounds, windows):
    result = {}
    for kind in SIMS:
        mine = [r[kind] for r in rounds]
        result[kind] = {'start_s': round(statistics.median(r['start_s'] for r in mine), 3),
                        'peak_mb': round(statistics.median(r['peak_mb'] for r in mine), 1)}
    for window in windows:
        for kind in SIMS:
            mine = [r[kind]['windows'][window] for r in rounds]
            result[kind][f'window_{window}'] = {
                'smps_per_s': round(statistics.median(r['smps_per_s'] for r in mine)),
                'cpu_us_per_smp': round(statistics.median(r['cpu_us_per_smp'] for r in mine), 3)}
        ratios = [r['heddle-sim']['windows'][window]['cpu_us_per_smp'] /
                  r['ibsim']['windows'][window]['cpu_us_per_smp'] for r in rounds]
        result[f'cpu_ratio_window_{window}'] = round(statistics.median(ratios), 3)
    return result


def show(result, windows):
    print(f'{"":12} {"start":>8} {"peak":>9}' +
          ''.join(f'{f"window {w}":>26}' for w in windows))
    for kind in SIMS:
        r = result[kind]
        text = ''.join(f'{r[f"window_{w}"]["smps_per_s"]:>12} SMP/s'
                       f'{r[f"window_{w}"]["cpu_us_per_smp"]:>6.2f} us' for w in windows)
        print(f'{kind:12} {r["start_s"]:>6.2f} s {r["peak_mb"]:>6.1f} MB{text}')
    for w in windows:
        print(f'CPU per SMP, window {w}: {result[f"cpu_ratio_window_{w}"]:.3f} of ibsim\'s')


def parse():
    p = argparse.ArgumentParser(prog='sim_rate.py', description=__doc__.splitlines()[0])
    p.add_argument('--build', default=os.environ.get('HEDDLE_BUILD', 'build/release'),
                   help='a Release build (default $HEDDLE_BUILD, else build/release)')
    p.add_argument('--fabric', default=DEFAULT_FABRIC, help=f'default {DEFAULT_FABRIC}')
    p.add_argument('--rounds', type=int, default=5)
    p.add_argument('--count', type=int, default=200000, help='SMPs of one measurement')
    p.add_argument('--windows', type=lambda t: [int(w) for w in t.split(',')], default=[64],
                   metavar='N,...', help='SMPs in flight (default 64)')
    p.add_argument('--json', metavar='FILE', help='append the result as one object')
    return p.parse_args()


def main():
    options = parse()
    if not shutil.which('ibsim'):
        raise BenchError('ibsim is not installed')
    rounds = []
    with tempfile.TemporaryDirectory(prefix='sim-rate-') as directory:
        net = os.path.join(directory, 'net')
        subprocess.run([os.path.join(options.build, 'bin', 'heddle'), 'fabric', 'convert',
                        options.fabric, net], check=True, timeout=60)
        for number in range(options.rounds):
            rounds.append(one_round(options, net, number, directory))
    result = summary(rounds, options.windows)
    show(result, options.windows)
    if options.json:
        with open(options.json, 'a', encoding='utf-8') as f:
            json.dump({'bench': 'sim_rate', 'fabric': options.fabric, 'rounds': options.rounds,
                       'count': options.count, **result}, f)
            f.write('\n')


try:
    main()
except (BenchError, OSError, subprocess.SubprocessError) as e:
    sys.exit(f'sim_rate.py: {e}')
