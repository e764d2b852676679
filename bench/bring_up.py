#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Brings a fabric up with heddle and with OpenSM (ftree) in turn, over the same simulator.

heddle: from just before the first shard is started to status converged. OpenSM: from its start to
SUBNET UP in its log. Both speak through libheddle-umad.so to a simulator of their own; counts and the
last answered Set(PortInfo) of state ACTIVE are from the MAD logs. Ratios are taken pair by pair.
"""
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True

from measure import (BenchError, LAST_LINES_S, Traffic, append, cluster, fabric_name, load,
                     loud_events, machine, main, parse, parser, usage, workspace)
from heddle_lab import build
from heddle_lab.place import place

POLL_S = 0.005
STOP_GRACE_S = 10
SUBNET_UP = 'SUBNET UP'
ENGINE = 'ftree'


def result(traffic, total_s, processes, sim):
    return {'total_s': round(total_s, 3),
            'active_s': round(traffic.active_s, 3) if traffic.active_s else None,
            'smps': traffic.smps, 'smps_by_attribute': dict(traffic.counts.most_common()),
            'timeouts': traffic.timeouts, 'answered_ms': traffic.answered_ms,
            'cpu_s': round(sum(p['cpu_s'] for p in processes.values()), 2),
            'hwm_mb': round(max(p['hwm_mb'] for p in processes.values()), 1),
            'processes': processes, 'simulator': sim}


# -- heddle --------------------------------------------------------------------------------


def heddle(options, net_file, directory):
    with cluster(options, directory, net_file) as c:
        end_ns = c.converge()
        records = c.daemons
        processes = {n: usage(d['proc']['pid']) for n, d in records.items()}
        time.sleep(LAST_LINES_S)
    traffic = Traffic([records[n]['mad_log'] for n in records if records[n]['mad_log']],
                      c.begin_ns, end_ns)
    events = loud_events(d['log'] for n, d in records.items() if n != options.sim)
    sim = processes.pop(options.sim)
    return {**result(traffic, (end_ns - c.begin_ns) / 1e9, processes, sim), 'warnings': events}


# -- OpenSM --------------------------------------------------------------------------------


def opensm_program():
    program = shutil.which('opensm', path='/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin')
    if program is None:
        raise BenchError('opensm is not installed; run: apt-get install opensm')
    return program


def end(child):
    child.terminate()
    try:
        child.wait(STOP_GRACE_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def wait_for_line(path, text, child, timeout_s):
    """Until a file that a child writes has text; what it has then."""
    deadline = time.monotonic() + timeout_s
    seen = b''
    while time.monotonic() < deadline:
        if os.path.exists(path):
            with open(path, 'rb') as f:
                f.seek(len(seen))
                seen += f.read()
        if text.encode() in seen:
            return seen.decode('utf-8', 'replace')
        if child.poll() is not None:
            raise BenchError(f'{os.path.basename(child.args[0])} ended with status '
                             f'{child.returncode}; see {path}')
        time.sleep(POLL_S)
    raise BenchError(f'{os.path.basename(child.args[0])} did not say "{text}" within {timeout_s} s')


def opensm(options, net_file, directory):
    with cluster(options, directory, net_file, shards=0) as c:
        files = os.path.join(directory, 'run')
        host = place(c.net, ['opensm'], {})['opensm']
        env = c.environment(host, os.path.join(files, 'opensm.mad'))
        env.update(OSM_CACHE_DIR=files, OSM_TMP_DIR=files)
        return _opensm(options, env, files, c.daemons[options.sim]['proc']['pid'])


def _opensm(options, env, directory, simulator_pid):
    log = os.path.join(directory, 'opensm.log')
    conf = os.path.join(directory, 'opensm.conf')
    with open(conf, 'w', encoding='ascii') as f:
        # without force_log_flush the line that says it is up stays in a buffer for minutes
        f.write(f'routing_engine {ENGINE}\nforce_log_flush TRUE\nlog_file {log}\n'
                f'dump_files_dir {directory}\n')
    begin_ns = time.monotonic_ns()
    sm = subprocess.Popen([opensm_program(), '-F', conf], env=env, cwd=directory,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL)
    try:
        text = wait_for_line(log, SUBNET_UP, sm, options.timeout)
        end_ns = time.monotonic_ns()
        processes, simulator = {'opensm': usage(sm.pid)}, usage(simulator_pid)
        time.sleep(LAST_LINES_S)
    finally:
        end(sm)
    engine = re.findall(r'(\S+) tables configured', text)
    if engine != [ENGINE]:
        raise BenchError(f'OpenSM routed with {engine or "no engine"}, not with {ENGINE}')
    return result(Traffic([env['HEDDLE_MAD_LOG']], begin_ns, end_ns), (end_ns - begin_ns) / 1e9,
                  processes, simulator)


# -- output --------------------------------------------------------------------------------


def say(name, r):
    print(f'{name:<7} {r["total_s"]:8.2f} s; last ACTIVE at {r["active_s"] or 0:.2f} s; '
          f'{r["smps"]} SMPs, {r["timeouts"]} timed out; CPU {r["cpu_s"]:.2f} s, '
          f'simulator {r["simulator"]["cpu_s"]:.2f} s')
    for process, u in r['processes'].items():
        print(f'          {process}: CPU {u["cpu_s"]:.2f} s, VmHWM {u["hwm_mb"]:.1f} MB')
    print('          sent: ' + ', '.join(f'{k} {n}' for k, n in r['smps_by_attribute'].items()))
    print('          answered, ms: ' + ', '.join(f'{k} {first}..{last}'
                                                for k, (first, last) in r['answered_ms'].items()),
          flush=True)
    if r.get('warnings'):
        print('          warnings: ' + ', '.join(f'{k} {n}' for k, n in r['warnings'].items()))


def median(runs, manager, key):
    return statistics.median(r[manager][key] or 0 for r in runs)


def bring_up():
    p = parser('bring_up.py', __doc__.splitlines()[0])
    p.add_argument('--runs', type=int, default=1, metavar='R', help='pairs to measure (default 1)')
    options = parse(p, 'runs', 'shards')
    opensm_program()
    runs = []
    with workspace() as directory:
        net_file = os.path.join(directory, 'fabric.net')
        build.heddle(options.build, 'fabric', 'convert', options.fabric, net_file)
        for i in range(options.runs):
            before = load()
            print(f'run {i + 1} of {options.runs}, load average {before:.2f}', flush=True)
            pair = {'bench': 'bring_up', 'fabric': fabric_name(options), 'shards': options.shards,
                    'simulator': options.sim, 'run': i + 1, 'load': before,
                    'machine': machine()}
            pair['heddle'] = heddle(options, net_file, os.path.join(directory, f'heddle-{i}'))
            say('heddle', pair['heddle'])
            pair['opensm'] = opensm(options, net_file, os.path.join(directory, f'opensm-{i}'))
            say('OpenSM', pair['opensm'])
            pair['ratio'] = round(pair['heddle']['total_s'] / pair['opensm']['total_s'], 3)
            print(f'ratio   {pair["ratio"]:.2f} (heddle / OpenSM)', flush=True)
            runs.append(pair)
            append(options.json, pair)
    print(f'medians of {len(runs)}: heddle {median(runs, "heddle", "total_s"):.2f} s (last ACTIVE '
          f'{median(runs, "heddle", "active_s"):.2f} s), OpenSM '
          f'{median(runs, "opensm", "total_s"):.2f} s (last ACTIVE '
          f'{median(runs, "opensm", "active_s"):.2f} s), ratio '
          f'{statistics.median(r["ratio"] for r in runs):.2f}')
    return 0


if __name__ == '__main__':
    sys.exit(main(bring_up))
