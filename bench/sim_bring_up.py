#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""OpenSM's bring-up of one fabric on ibsim and on heddle-sim, in turn.

From the start of OpenSM to SUBNET UP in its log, over the same preload with the same options (--preload:
libheddle-umad, or the libumad2sim that comes with ibsim); which simulator goes first alternates. Ratios
are taken pair by pair. Also: the seconds until the simulator takes clients, and its CPU seconds and
peak memory from its start to SUBNET UP.
"""
import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time

sys.dont_write_bytecode = True

from measure import BenchError, append, fabric_name, load, machine, main, parse, parser, usage

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))),
                                'tests', 'conformance'))

import fabrics  # noqa: E402
import simulators  # noqa: E402
from opensm import OpenSM  # noqa: E402
from simulators import HEDDLE_SIM, IBSIM  # noqa: E402

FABRIC = 'pgft:3:16,16,8:1,16,4:1,1,1'  # 2,048 hosts
ENGINE = 'minhop'


def bring_up(options, kind, fabric, directory):
    begin = time.monotonic()
    with simulators.Simulator(kind, fabric, directory, options.build, options.preload) as sim:
        ready_s = time.monotonic() - begin
        # the options of a site, not those that make two runs the same
        manager = OpenSM(sim, fabric.manager, {'routing_engine': options.engine,
                                               'single_thread': 'FALSE', 'max_wire_smps': '4'})
        total_s = manager.wait_up(timeout_s=options.timeout)
        if manager.engines() != [options.engine]:
            raise BenchError(f'OpenSM routed with {manager.engines()}, not with {options.engine}')
        sim_use, manager_use = usage(sim.process.pid), usage(manager.child.pid)
        manager.stop()
    return {'total_s': round(total_s, 3), 'ready_s': round(ready_s, 3),
            'sim_cpu_s': round(sim_use['cpu_s'], 2), 'sim_hwm_mb': round(sim_use['hwm_mb'], 1),
            'opensm_cpu_s': round(manager_use['cpu_s'], 2)}


def pair_of_runs(options, fabric, number):
    kinds = (IBSIM, HEDDLE_SIM) if number % 2 == 0 else (HEDDLE_SIM, IBSIM)
    pair = {'bench': 'sim_bring_up', 'run': number, 'fabric': fabric_name(options),
            'hosts': len(fabric.net.hosts), 'engine': options.engine, 'first': kinds[0],
            'preload': os.path.basename(options.preload),
            'load': load(), 'machine': machine()}
    for kind in kinds:
        directory = tempfile.mkdtemp(prefix='heddle-bench-')
        try:
            pair[kind] = bring_up(options, kind, fabric, os.path.join(directory, 'sim'))
        finally:
            shutil.rmtree(directory, ignore_errors=True)
        r = pair[kind]
        print(f'{kind:<10} {r["total_s"]:7.3f} s; ready in {r["ready_s"]:.3f} s, CPU '
              f'{r["sim_cpu_s"]:.2f} s, {r["sim_hwm_mb"]:.0f} MB; OpenSM CPU '
              f'{r["opensm_cpu_s"]:.2f} s', flush=True)
    pair['ratio'] = round(pair[HEDDLE_SIM]['total_s'] / pair[IBSIM]['total_s'], 3)
    append(options.json, pair)
    return pair


def options_of():
    p = parser('sim_bring_up.py', __doc__)
    for action in list(p._actions):  # the shards are heddle's
        if '--shards' in action.option_strings:
            action.help = argparse.SUPPRESS
    p.set_defaults(fabric=FABRIC)
    p.add_argument('--runs', type=int, default=5, metavar='N', help='pairs (default 5)')
    p.add_argument('--engine', default=ENGINE, metavar='E', help=f'default {ENGINE}')
    p.add_argument('--preload', metavar='FILE', help='what stands in for libibumad '
                   "(default the build's libheddle-umad.so)")
    options = parse(p, 'runs')
    options.preload = os.path.realpath(options.preload or os.path.join(options.build, 'lib',
                                                                       'libheddle-umad.so'))
    if not os.path.exists(options.preload):
        raise BenchError(f'{options.preload} is not there')
    return options


def sim_bring_up():
    options = options_of()
    if not os.path.exists(simulators.heddle_sim_program(options.build)):
        raise BenchError(f'{options.build} has no bin/heddle-sim; build it first')
    directory = tempfile.mkdtemp(prefix='heddle-bench-')
    try:
        fabric = fabrics.make(options.build, options.fabric, directory)
        pairs = [pair_of_runs(options, fabric, n) for n in range(options.runs)]
    except simulators.Failed as e:
        raise BenchError(str(e)) from None
    finally:
        shutil.rmtree(directory, ignore_errors=True)

    def median(kind):
        return statistics.median(p[kind]['total_s'] for p in pairs)
    print(f'medians of {len(pairs)}: ibsim {median(IBSIM):.3f} s, heddle-sim '
          f'{median(HEDDLE_SIM):.3f} s; ratio {statistics.median(p["ratio"] for p in pairs):.2f} '
          f'(heddle-sim / ibsim)')
    return 0


if __name__ == '__main__':
    sys.exit(main(sim_bring_up))
