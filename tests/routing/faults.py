#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""50 planted faults: heddle's checker and the witness must find each of them and say where.

Correct tables of several engines on random fabrics get one fault each. A fault is planted only
where it is one by construction (each planter says why); a base whose tables do not admit it is
passed over. Judges:
  - the witness, on the files;
  - routing/check.c, by `dump_plan check` on the same files;
  - `heddle route check --fabric F --lfts D`, where tables alone show the fault."""
import argparse
import collections
import copy
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from typing import Callable, Iterator

import witness

BUILD = os.environ.get('HEDDLE_BUILD', 'build')
DUMP_PLAN, HEDDLE = (os.path.join(BUILD, 'bin', name) for name in ('dump_plan', 'heddle'))
PORTS = witness.PORTS
SLS = 16
SEEDS = 20  # of random fabrics that bases are looked for in
# Kind of fault -> how many are planted; 50 in all.
WANTED = {'uncabled port': 3, 'port that does not exist': 3, 'cable gone': 3, 'loop of 2': 3,
          'loop of 3': 3, 'loop of 4': 2, 'black hole': 4, 'missing LID': 3, 'hosts swapped': 3,
          'own LID': 3, 'no table': 2, 'LMC path': 3, 'port 0 of another': 2, 'credit loop': 4,
          'wrong SL': 3, 'SL without a VL': 1, 'wrong SL2VL': 3, 'SL2VL without a VL': 2}
# Kinds that tables do not show, so that `heddle route check --lfts` is not asked.
LANE_KINDS = {'wrong SL', 'SL without a VL', 'wrong SL2VL', 'SL2VL without a VL'}

Fault = collections.namedtuple('Fault', 'key says places what counted', defaults=(None,))
# key: the count that must not be 0. says: heddle's report has a line that matches one of these.
# places: the witness has a finding of that key with one of these sets of members. counted: the line
# of `heddle route check` where it only counts what its input lacks.


class Base:
    """Correct tables of one engine on one fabric, as files that can be changed."""

    def __init__(self, folder: str, case: dict) -> None:
        def text(key: str) -> str:
            return witness.read(os.path.join(folder, case[key])) if key in case else ''
        self.name = f'seed {case["seed"]} ({case["spec"]}) {case["engine"]}:{case["vls"]}'
        self.engine, self.vls = case['engine'], case['vls']
        self.net = text('fabric')
        self.f = witness.read_fabric('base', self.net)
        self.nports = [0] * len(self.f.guids)
        for m in re.finditer(r'^Switch\t(\d+) "S-([0-9a-f]{16})"', self.net, re.M):
            self.nports[self.f.index[int(m[2], 16)]] = int(m[1])
        self.heads: dict[int, str] = {}
        self.tables: dict[int, dict[int, int]] = {}
        self.tails: dict[int, str] = {}
        at = -1
        for line in text('lfts').splitlines():
            if line.startswith('Unicast'):
                at = self.f.index[int(re.search(r' guid 0x([0-9a-f]{16})', line)[1], 16)]
                self.heads[at], self.tables[at] = line, {}
            elif m := re.match(r'0x([0-9a-f]{4}) (\d{3}) (.*)', line):
                self.tables[at][int(m[1], 16)] = int(m[2])
                self.tails[int(m[1], 16)] = m[3]
        self.sls = {}
        for line in text('sl').splitlines():
            slid, dlid, sl = map(int, line.split())
            self.sls[slid, dlid] = sl
        self.lanes: dict[tuple[int, int, int], list[int]] = {}  # (switch, in, out) -> VL of each SL
        self.lid = {o.switch: o.lid for o in self.f.owners if o.port == 0}
        self.peer = {(a // PORTS, a % PORTS): (b // PORTS, b % PORTS)
                     for a, b in self.f.far.items()}
        self.near = collections.defaultdict(dict)  # switch -> neighbour -> a port
        for (s, port), (t, _) in sorted(self.peer.items()):
            self.near[s].setdefault(t, port)
        self.hosts = [o for o in self.f.owners if o.port > 0]

    def guid(self, s: int) -> str:
        return f'0x{self.f.guids[s]:016x}'

    def add_lanes(self) -> None:
        """SL2VL tables that say VL = SL, where the fault is in one of them."""
        for s, n in enumerate(self.nports):
            for i in range(n + 1):
                for o in range(n + 1):
                    self.lanes[s, i, o] = list(range(SLS))

    def write(self, folder: str, name: str) -> dict[str, str]:
        paths = {'fabric': self.net, 'lfts': ''}
        for s, table in sorted(self.tables.items()):
            lines = [self.heads[s], '  Lid  Out   Destination', '       Port     Info ']
            lines += [f'0x{lid:04x} {port:03d} {self.tails[lid]}' for lid, port in
                      sorted(table.items())]
            paths['lfts'] += '\n'.join(lines) + f'\n{len(table)} valid lids dumped \n'
        if self.sls:
            paths['sl'] = ''.join(f'{a} {b} {sl}\n' for (a, b), sl in sorted(self.sls.items()))
        if self.lanes:
            paths['sl2vl'] = ''
            for (s, i, o), vls in sorted(self.lanes.items(), key=lambda x: (x[0][0], x[0][2], x[0])):
                if i == 0:
                    paths['sl2vl'] += f'# SL2VL table: Lid {self.lid[s]}\n'
                paths['sl2vl'] += (f'ports: in {i:2d}, out {o:2d}: |' +
                                   ''.join(f'{v:2d}|' for v in vls) + '\n')
        for key, text in paths.items():
            paths[key] = os.path.join(folder, f'{name}.{key}')
            with open(paths[key], 'w', encoding='utf-8', errors='replace') as file:
                file.write(text)
        return paths

    # -- walking, pair by pair: what faults are judged by before they are planted ---------------

    def walk(self, s: int, lid: int) -> list[tuple[int, int]]:
        """(switch, output port) of the hops between switches."""
        path, owner = [], next(o for o in self.f.owners if o.lid <= lid < o.lid + (1 << o.lmc))
        while len(path) < len(self.nports):
            port = self.tables[s].get(lid, -1)
            if (s, port) not in self.peer or (s == owner.switch and port == owner.port):
                break
            path.append((s, port))
            s = self.peer[s, port][0]
        return path

    def waits(self) -> dict[tuple, set[tuple]]:
        """The channel dependency graph: (switch, port, VL) -> the same."""
        edges = collections.defaultdict(set)
        starts = [(o.switch, o.port) for o in self.f.owners]
        for o in self.f.owners:
            for lid in range(o.lid, o.lid + (1 << o.lmc)):
                paths = {s: self.walk(s, lid) for s in range(len(self.nports))}
                for s, came in starts:
                    sl, held = self.sls.get((self.lid[s], lid), 0), None
                    for at, port in paths[s]:
                        vl = self.lanes[at, came, port][sl] if self.lanes else sl
                        if held:
                            edges[held].add((at, port, vl))
                        held, came = (at, port, vl), self.peer[at, port][1]
        return edges


def has_cycle(edges: dict[tuple, set[tuple]]) -> bool:
    """Whether channels remain when those that wait for nothing are taken away, again and again."""
    left = {a: set(b) for a, b in edges.items()}
    while True:
        ends = [a for a, b in left.items() if not any(x in left for x in b)]
        if not ends:
            return bool(left)
        for a in ends:
            del left[a]


# -- planters: change a copy of a base and say what must be found; None = not on this base ---------


def lid_says(word: str, lid: int) -> list[str]:
    return [rf'{word}: .*\bLID {lid} of ']


def foreign_lid(b: Base, dice: random.Random, *switches: int) -> int | None:
    """The base LID of somebody on none of these switches."""
    lids = [o.lid for o in b.f.owners if o.switch not in switches]
    return dice.choice(lids) if lids else None


def dead_port(b: Base, dice: random.Random, ports: Callable[[int], list[int]],
              why: str) -> Fault | None:
    s = dice.randrange(len(b.nports))
    lid = foreign_lid(b, dice, s)
    if not ports(s) or lid is None:
        return None
    port = dice.choice(ports(s))
    b.tables[s][lid] = port
    return Fault('dead_ports', [rf'dead port: switch {b.guid(s)} LID {lid} leads to port {port}\b'],
                 [{'switch': b.guid(s), 'lid': lid, 'port': port}],
                 f'switch {b.guid(s)} LID {lid} to port {port}, {why}')


def uncabled_port(b: Base, dice: random.Random) -> Fault | None:
    return dead_port(b, dice, lambda s: [p for p in range(1, b.nports[s] + 1)
                                         if p not in b.f.live[s]], 'which has no cable')


def absent_port(b: Base, dice: random.Random) -> Fault | None:
    return dead_port(b, dice, lambda s: [b.nports[s] + 1, b.nports[s] + 7, 254],
                     'which it does not have')


def cable_gone(b: Base, dice: random.Random) -> Fault | None:
    """A cable that entries use is no longer there: they lead nowhere."""
    s, port = dice.choice(sorted(b.peer))
    t, far = b.peer[s, port]
    lids = [lid for lid, p in b.tables[s].items() if p == port]
    if not lids:
        return None
    lines, at, ends = [], -1, {(s, port), (t, far)}
    for line in b.net.splitlines():
        if m := re.match(r'(?:Switch|Ca|Rt)\t\d+ "(.)-([0-9a-f]{16})"', line):
            at = b.f.index.get(int(m[2], 16), -1)
        if (m := re.match(r'\[(\d+)\]', line)) and (at, int(m[1])) in ends:
            continue
        lines.append(line)
    b.net = '\n'.join(lines) + '\n'
    both = [(s, port), (t, far)]
    return Fault('dead_ports',
                 [rf'dead port: switch {b.guid(x)} LID \d+ leads to port {p}\b' for x, p in both],
                 [{'switch': b.guid(x), 'port': p} for x, p in both],
                 f'cable of switch {b.guid(s)} port {port} gone, {len(lids)} entries use it')


def ring_of(b: Base, dice: random.Random, length: int) -> list[int] | None:
    """A cycle of cables through so many different switches."""
    first = list(range(len(b.nports)))
    dice.shuffle(first)

    def grow(path: list[int]) -> list[int] | None:
        if len(path) == length:
            return path if path[0] in b.near[path[-1]] else None
        for t in dice.sample(sorted(b.near[path[-1]]), len(b.near[path[-1]])):
            if t not in path and (found := grow(path + [t])):
                return found
        return None
    return next((ring for s in first if (ring := grow([s]))), None)


def loop(b: Base, dice: random.Random, length: int) -> Fault | None:
    """Each switch of a ring sends a LID of somebody elsewhere to the next: it never arrives."""
    ring = ring_of(b, dice, length)
    lid = foreign_lid(b, dice, *ring) if ring else None
    if lid is None:
        return None
    for s, t in zip(ring, ring[1:] + ring[:1]):
        b.tables[s][lid] = b.near[s][t]
    return Fault('loops', lid_says('loop', lid),
                 [{'lid': lid, 'ring': {b.guid(s) for s in ring}}],
                 f'LID {lid} goes round {", ".join(b.guid(s) for s in ring)}')


def lost(b: Base, s: int, lid: int, what: str) -> Fault:
    return Fault('unreachable', lid_says('unreachable', lid),
                 [{'lid': lid, 'ends_at': b.guid(s)}], f'LID {lid} {what} {b.guid(s)}')


def black_hole(b: Base, dice: random.Random) -> Fault | None:
    s = dice.randrange(len(b.nports))
    lid = foreign_lid(b, dice, s)
    if lid is None:
        return None
    del b.tables[s][lid]
    return lost(b, s, lid, 'has no entry at')


def missing_lid(b: Base, dice: random.Random) -> Fault | None:
    o = dice.choice(b.hosts)
    for table in b.tables.values():
        table.pop(o.lid, None)
    fault = lost(b, o.switch, o.lid, 'has no entry at any switch, its own included:')
    return fault._replace(counted=r'\b1 +ports whose LID the file does not tell')


def swapped(b: Base, dice: random.Random) -> Fault | None:
    """Packets to each of two hosts of a switch come out at the other."""
    pairs = [(x, y) for x in b.hosts for y in b.hosts if x.switch == y.switch and x.port < y.port]
    if not pairs:
        return None
    x, y = dice.choice(pairs)
    b.tables[x.switch][x.lid], b.tables[x.switch][y.lid] = y.port, x.port
    fault = lost(b, x.switch, x.lid, f'and LID {y.lid} are swapped at')
    return fault._replace(says=fault.says + lid_says('unreachable', y.lid))


def own_lid(b: Base, dice: random.Random) -> Fault | None:
    """A switch sends packets to itself on to a neighbour that sends them back."""
    s, port = dice.choice(sorted(b.peer))
    t, lid = b.peer[s, port][0], b.lid[s]
    if b.peer.get((t, b.tables[t][lid]), (-1, 0))[0] != s:
        return None
    b.tables[s][lid] = port
    return Fault('loops', lid_says('loop', lid), [{'lid': lid, 'ring': {b.guid(s), b.guid(t)}}],
                 f'switch {b.guid(s)} sends its own LID {lid} to port {port}')


def no_table(b: Base, dice: random.Random) -> Fault | None:
    s = dice.randrange(len(b.nports))
    del b.tables[s]
    return Fault('unreachable', [rf'unreachable: from switch {b.guid(s)} to LID '],
                 [{'switch': b.guid(s), 'ends_at': b.guid(s)}], f'no table of switch {b.guid(s)}',
                 r'\b1 +switches without a table in the file')


def lmc_path(b: Base, dice: random.Random) -> Fault | None:
    """A further LID of a port goes nowhere, its base LID does."""
    many = [o for o in b.hosts if o.lmc]
    if not many:
        return None
    o = dice.choice(many)
    lid = o.lid + dice.randrange(1, 1 << o.lmc)
    s = dice.randrange(len(b.nports))
    b.tables[s].pop(lid)
    return lost(b, s, lid, f'(base LID {o.lid}) has no entry at')


def port_zero(b: Base, dice: random.Random) -> Fault | None:
    """A switch takes packets to somebody elsewhere for its own."""
    s = dice.randrange(len(b.nports))
    lid = foreign_lid(b, dice, s)
    if lid is None:
        return None
    b.tables[s][lid] = 0
    return lost(b, s, lid, 'leads to port 0 of')


def cycle_fault(b: Base, channels: set[tuple[int, int]], what: str) -> Fault:
    """Any cycle that is found must go through one of these channels."""
    return Fault('credit_loop_channels',
                 [rf'credit loop:.* {b.guid(s)}\[{port}\]' for s, port in sorted(channels)],
                 [{'switch': b.guid(s), 'port': port} for s, port in sorted(channels)], what)


def credit_loop(b: Base, dice: random.Random) -> Fault | None:
    """Round a ring, packets to each switch come by the two before it: each channel of the ring
    waits for the next, and yet all packets arrive. The tables had no cycle, so any has one of the
    changed entries in it, and these are channels of the ring."""
    ring = ring_of(b, dice, dice.choice((3, 4, 4, 5, 6))) if b.vls == 1 else None
    if not ring:
        return None
    n, channels = len(ring), set()
    for i, s in enumerate(ring):
        t, goal = ring[(i + 1) % n], b.lid[ring[(i + 2) % n]]
        b.tables[s][goal] = b.near[s][t]
        b.tables[t][goal] = b.near[t][ring[(i + 2) % n]]
        channels.add((s, b.near[s][t]))
    if not has_cycle(b.waits()):
        raise AssertionError(f'{b.name}: a ring that is none')
    return cycle_fault(b, channels, f'credit loop round {", ".join(b.guid(s) for s in ring)}')


def wrong_sl(b: Base, dice: random.Random) -> Fault | None:
    """A path gets the SL of another lane where that closes a cycle, as the graph of all paths
    says. The cycle must then have a channel of that path."""
    if b.vls < 2:
        return None
    edges = b.waits()
    paths = [(s, o.lid) for s in range(len(b.nports)) for o in b.f.owners
             if len(b.walk(s, o.lid)) > 1]
    dice.shuffle(paths)
    for s, lid in paths:
        path = b.walk(s, lid)
        for sl in range(b.vls):
            with_it = copy.deepcopy(edges)
            for x, y in zip(path, path[1:]):
                with_it[*x, sl].add((*y, sl))
            if sl != b.sls[b.lid[s], lid] and has_cycle(with_it):
                was, b.sls[b.lid[s], lid] = b.sls[b.lid[s], lid], sl
                return cycle_fault(b, set(path),
                                   f'packets of switch {b.guid(s)} to LID {lid}: SL {sl}, not {was}')
    return None


def bad_lane(b: Base, s: int, lid: int, what: str) -> Fault:
    return Fault('bad_lanes', [rf'bad lane: .*{b.guid(s)} '], [{'lid': lid, 'switch': b.guid(s)}],
                 what)


def sl_without_vl(b: Base, dice: random.Random) -> Fault | None:
    s = dice.randrange(len(b.nports))
    lids = [o.lid for o in b.f.owners if o.switch != s]
    if b.vls < 2 or not lids:
        return None
    lid = dice.choice(lids)
    b.sls[b.lid[s], lid] = 12
    return bad_lane(b, s, lid, f'packets of switch {b.guid(s)} to LID {lid}: SL 12')


def wrong_sl2vl(b: Base, dice: random.Random) -> Fault | None:
    """One switch puts an SL into another's lane, where that closes a cycle. Only dependencies
    from or to channels that leave it are new."""
    if b.vls < 2:
        return None
    b.add_lanes()
    order = [(s, sl, vl) for s in range(len(b.nports)) for sl in range(b.vls)
             for vl in range(b.vls) if sl != vl]
    dice.shuffle(order)
    for s, sl, vl in order:
        mine = [key for key in b.lanes if key[0] == s]
        for key in mine:
            b.lanes[key][sl] = vl
        if has_cycle(b.waits()):
            return cycle_fault(b, {end for end in b.peer if end[0] == s},
                               f'SL2VL of switch {b.guid(s)}: SL {sl} to VL {vl}')
        for key in mine:
            b.lanes[key][sl] = sl
    return None


def sl2vl_without_vl(b: Base, dice: random.Random) -> Fault | None:
    """One switch drops an SL (VL15 in an SL2VL table) between two ports that a path of it uses."""
    if b.vls < 2:
        return None
    b.add_lanes()
    paths = [(s, o.lid) for s in range(len(b.nports)) for o in b.f.owners
             if len(b.walk(s, o.lid)) > 1]
    s, lid = dice.choice(paths)
    (at, out), (then, onward) = b.walk(s, lid)[:2]
    sl, came = b.sls[b.lid[s], lid], b.peer[at, out][1]
    b.lanes[then, came, onward][sl] = 15
    return Fault('bad_lanes', [rf'bad lane: .*{b.guid(then)} '],
                 [{'switch': b.guid(then), 'in_port': came, 'port': onward, 'sl': sl}],
                 f'SL2VL of switch {b.guid(then)} in {came} out {onward}: SL {sl} to VL 15')


PLANTERS: dict[str, Callable[[Base, random.Random], Fault | None]] = {
    'uncabled port': uncabled_port, 'port that does not exist': absent_port,
    'cable gone': cable_gone, 'loop of 2': lambda b, d: loop(b, d, 2),
    'loop of 3': lambda b, d: loop(b, d, 3), 'loop of 4': lambda b, d: loop(b, d, 4),
    'black hole': black_hole, 'missing LID': missing_lid, 'hosts swapped': swapped,
    'own LID': own_lid, 'no table': no_table, 'LMC path': lmc_path, 'port 0 of another': port_zero,
    'credit loop': credit_loop, 'wrong SL': wrong_sl, 'SL without a VL': sl_without_vl,
    'wrong SL2VL': wrong_sl2vl, 'SL2VL without a VL': sl2vl_without_vl}


# -- judging ---------------------------------------------------------------------------------------


def matches(finding: dict, place: dict) -> bool:
    return all(set(finding.get(k, ())) == v if isinstance(v, set) else finding.get(k) == v
               for k, v in place.items())


def ask_witness(fault: Fault, b: Base, paths: dict[str, str]) -> str | None:
    """What is wrong with the answer."""
    result = witness.check_files(paths['fabric'], paths['lfts'], paths.get('sl'),
                                 paths.get('sl2vl'), b.vls, limit=1 << 20)
    if not result[fault.key] or result['ok']:
        return 'finds nothing'
    found = result['findings'].get(fault.key, [])
    if fault.key == 'credit_loop_channels':
        found = [c for knot in result['findings']['credit_loops'] for c in knot['cycle']]
    ok = any(matches(f, place) for f in found for place in fault.places)
    return None if ok else 'does not say where'


def ask_checker(fault: Fault, b: Base, paths: dict[str, str]) -> str | None:
    run = subprocess.run([DUMP_PLAN, 'check', paths['fabric'], paths['lfts'], str(b.vls),
                          paths.get('sl', '-')] + ([paths['sl2vl']] if b.lanes else []),
                         capture_output=True, text=True, timeout=60)
    if run.returncode:
        return f'status {run.returncode}: {run.stderr.strip()}'
    result = json.loads(run.stdout)
    if not result[fault.key] or result['ok']:
        return 'finds nothing'
    ok = any(re.search(says, result['report']) for says in fault.says)
    return None if ok else f'does not say where: {result["report"]}'


def ask_command(fault: Fault, paths: dict[str, str]) -> str | None:
    run = subprocess.run([HEDDLE, 'route', 'check', '--fabric', paths['fabric'], '--lfts',
                          paths['lfts']], capture_output=True, text=True, timeout=60)
    if run.returncode != 1:
        return f'status {run.returncode}: {run.stderr.strip()}'
    wanted = [fault.counted] if fault.counted else fault.says
    ok = any(re.search(says, run.stdout) for says in wanted)
    return None if ok else f'does not say where: {run.stdout}{run.stderr}'


def bases(folder: str, first: int) -> Iterator[Base]:
    """Tables without any fault, on fabrics in one piece."""
    for seed in range(first, first + SEEDS):
        run = subprocess.run([DUMP_PLAN, 'random', folder, str(seed), '1'], check=True,
                             stdout=subprocess.PIPE, text=True, timeout=60)
        for line in run.stdout.splitlines():
            case = json.loads(line)
            if case['spoilt'] or 'refused' in case or not case['ok'] or case['disconnected']:
                continue
            b = Base(folder, case)
            if len(b.nports) > 3 and len(b.hosts) > 1:
                yield b


def plant(kind: str, pool: list[Base], dice: random.Random) -> Iterator[tuple[Base, Fault]]:
    for origin in dice.sample(pool, len(pool)):
        b = copy.deepcopy(origin)
        if fault := PLANTERS[kind](b, dice):
            yield b, fault


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--seed', type=int, default=int(os.environ.get('HEDDLE_SEED', '1')))
    parser.add_argument('--verbose', action='store_true', help='describe each fault')
    a = parser.parse_args()
    print(f'seed {a.seed}; repeat with HEDDLE_BUILD={BUILD} faults.py --seed {a.seed}', flush=True)
    dice = random.Random(a.seed)
    wrong, planted = [], 0
    with tempfile.TemporaryDirectory(prefix='heddle-faults-') as folder:
        pool = list(bases(folder, a.seed))
        for b in pool:  # not a fault to be planted twice
            paths = b.write(folder, 'base')
            if not witness.check_files(paths['fabric'], paths['lfts'], paths.get('sl'),
                                       vls=b.vls)['ok']:
                wrong.append(f'{b.name}: the witness finds a fault before any is planted')
        for kind, count in WANTED.items():
            had = 0
            for b, fault in plant(kind, pool, dice):
                paths = b.write(folder, 'fault')
                answers = {'witness': ask_witness(fault, b, paths),
                           'checker': ask_checker(fault, b, paths)}
                if kind not in LANE_KINDS:
                    answers['heddle route check'] = ask_command(fault, paths)
                wrong += [f'{kind}, {b.name}, {fault.what}: {who} {what}'
                          for who, what in answers.items() if what]
                if a.verbose:
                    print(f'{kind}: {b.name}: {fault.what}: ' + ', '.join(answers))
                for path in paths.values():
                    os.unlink(path)
                had += 1
                if had == count:
                    break
            planted += had
            if had < count:
                wrong.append(f'{kind}: only {had} of {count} could be planted in these fabrics')
    print(f'{planted} faults of {len(WANTED)} kinds on {len(pool)} bases, '
          f'{len(wrong)} not found or not placed')
    for line in wrong:
        print(line)
    return 1 if wrong or planted != sum(WANTED.values()) else 0


if __name__ == '__main__':
    sys.exit(main())
