#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Kills the shard with most ports, again and again, and times its takeover from outside.

detect_ms: from just before kill(2) to the first Set(PortInfo) that names a survivor at a port of
the dead shard; takeover_ms: to the first answer of the last such port. Both by the survivors' MAD
logs; which ports, their LIDs and the tables by heddle-portscan before and after.
"""
import sys
import time

sys.dont_write_bytecode = True

from measure import (BenchError, append, cluster, fabric_name, load, machine, main, parse, parser,
                     spread, workspace)
from heddle_lab import madlog, procs
from heddle_lab.evidence import Takeover

SETTLE_S = 1.0  # a scan loads the simulator, which the takeover needs too
LAST_LINES_S = 0.2
RETRIES = 10


def victim_of(c, scan):
    """The living shard that most ports name, and the LIDs of all living ones."""
    lids = {n: c.lid(n, scan) for n in c.shards if procs.alive(c.daemons[n]['proc'])}
    owned = {n: sum(p['sm_lid'] == lid for p in scan.ports.values()) for n, lid in lids.items()}
    return max(sorted(owned), key=owned.get), lids


def first_claim_ns(logs, since_ns, taken, live_lids):
    """When a survivor first wrote itself into a port of the dead shard, None if never."""
    lids = {p['lid'] for p in taken.values()}
    return min((m.ns for log in logs
                for m in madlog.sets_sent(madlog.read(log, since_ns), madlog.PORT_INFO)
                if int(m.extra.get('lid', 0)) in lids and int(m.extra.get('smlid', 0)) in live_lids),
               default=None)


def take(c, number):
    """One kill; what was seen of it."""
    before = c.scan()
    victim, lids = victim_of(c, before)
    dead = lids.pop(victim)
    live = set(lids.values())
    logs = [c.daemons[n]['mad_log'] for n in lids]
    before_load = load()
    killed_ns = int(c.lab('kill', victim).rpartition('monotonic_ns=')[2])
    time.sleep(SETTLE_S)
    for _ in range(RETRIES):
        after = c.scan()
        if all(p['sm_lid'] != dead for p in after.ports.values()):
            break
        time.sleep(SETTLE_S)
    time.sleep(LAST_LINES_S)
    seen = Takeover(before, after, dead, live, logs, killed_ns)
    claim_ns = first_claim_ns(logs, killed_ns, seen.taken, live)
    return {'number': number, 'victim': victim, 'ports': len(seen.taken),
            'detect_ms': round((claim_ns - killed_ns) / 1e6, 1) if claim_ns else None,
            'takeover_ms': round(seen.ms, 1) if seen.ms is not None else None,
            'lft_writes': seen.lft_writes, 'lids_changed': seen.lids_changed,
            'tables_changed': seen.tables_changed, 'load': before_load,
            'problems': seen.problems}


def say(t):
    times = ', '.join(f'{k} {"none" if t[k] is None else format(t[k], ".0f")}'
                      for k in ('detect_ms', 'takeover_ms'))
    print(f'{t["number"]:>3} {t["victim"]}: {t["ports"]} ports, {times}, {t["lft_writes"]} LFT '
          f'writes, {t["lids_changed"]} LIDs changed, load {t["load"]:.2f}'
          + ''.join(f'\n    {p}' for p in t['problems']), flush=True)


def summary(takeovers):
    found = {}
    for key in ('detect_ms', 'takeover_ms'):
        values = [t[key] for t in takeovers if t[key] is not None]
        if values:
            found[key] = spread(values)
    for key in ('lft_writes', 'lids_changed', 'tables_changed'):
        found[key] = sum(t[key] for t in takeovers)
    found['with_problems'] = sum(bool(t['problems']) for t in takeovers)
    return found


def measure(options, takeovers):
    with workspace() as directory, cluster(options, directory + '/lab', options.fabric) as c:
        c.converge()
        for i in range(options.count):
            takeovers.append(take(c, i + 1))
            say(takeovers[-1])
            c.converge()
            c.lab('start', takeovers[-1]['victim'])
            c.converge()


def takeover():
    p = parser('takeover.py', __doc__.splitlines()[0])
    p.add_argument('--count', type=int, default=20, metavar='K', help='kills (default 20)')
    options = parse(p, 'count')
    if options.shards < 2:
        p.error(f'--shards {options.shards}: a takeover needs at least 2')
    takeovers = []
    try:
        measure(options, takeovers)
    finally:
        if takeovers:
            found = summary(takeovers)
            append(options.json, {'bench': 'takeover', 'fabric': fabric_name(options),
                                  'shards': options.shards, 'simulator': options.sim,
                                  'machine': machine(), **found,
                                  'takeovers': takeovers})
            print(f'{len(takeovers)} takeovers, {found["with_problems"]} with problems')
            for key in ('detect_ms', 'takeover_ms'):
                if key in found:
                    print(f'{key:<12} ' + ', '.join(f'{k} {v:.0f}' for k, v in found[key].items()))
            print(f'LFT writes {found["lft_writes"]}, LIDs changed {found["lids_changed"]}, '
                  f'tables changed {found["tables_changed"]}')
    if summary(takeovers)['with_problems']:
        raise BenchError('not every takeover was right, see above')
    return 0


if __name__ == '__main__':
    sys.exit(main(takeover))
