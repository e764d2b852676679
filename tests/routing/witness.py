#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""A second checker of forwarding tables, which shares no code and no method with routing/check.c.

It reads what stock tools print and nothing else:
  FABRIC   ibnetdiscover
  LFTS     dump_lfts (ibroute, dump_fts)
  --sl     lines "SLID DLID SL" (decimal): the service level of the paths from an end port. An end
           port without a line for a DLID has the SLs that its switch's other end ports have; where
           there is none either, SL 0.
  --sl2vl  what `smpquery sl2vl LID PORT` prints, for all switches and output ports, one after the
           other. Without it packets are in the VL of their SL; without --sl and --sl2vl all are in
           VL 0.
and finds: (switch, LID) pairs without a path although cables join them; loops; entries at ports
where nobody is; packets in a VL that is not there; credit loops (cycles of the channel dependency
graph, a channel being one VL of one direction of a cable between switches; Dally and Seitz 1987),
with a shortest witness cycle of each knot.

Prints one object of JSON. Exit status: 0 nothing wrong, 1 findings, 2 bad input.

Method. Of each LID the entries make every switch point at one other: the tree of those that get
there is grown backwards from the owner, then that of those that end elsewhere; what is in neither
goes round. Cycles: channels that nothing waits for, or that wait for nothing, are peeled off until
none is left to peel; the rest is split by Kosaraju's algorithm (Sharir 1981)."""
import argparse
import collections
import json
import re
import sys

NO_ENTRY = 255
MAX_LID = 0xBFFF  # last unicast LID, IBA 4.1.3
VLS = 16  # of a port, VL15 included
PORTS = 256

NODE = re.compile(r'(Switch|Ca|Rt)\s+(\d+)\s+"[SHR]-([0-9a-f]{16})"')
PORT_ZERO = re.compile(r'(?:base|enhanced) port 0 lid (\d+) lmc (\d+)\s*$')
CABLE = re.compile(r'\[(\d+)\](?:\([0-9a-f]+\))?\s+"([SHR])-([0-9a-f]{16})"\[(\d+)\]')
END_PORT = re.compile(r'# lid (\d+) lmc (\d+)')
TABLE = re.compile(r'Unicast lids \[.*?\] of switch .*? guid 0x([0-9a-f]{16})\b')
ENTRY = re.compile(r'0x([0-9a-f]{4}) (\d{3})\b')
LANES_OF = re.compile(r'# SL2VL table: .*\bLid (\d+)')
LANES = re.compile(r'ports: in\s+(\d+), out\s+(\d+): \|((?:\s*\d+\|){16})')


class BadInput(Exception):
    """What is wrong, where, and what was expected."""


Owner = collections.namedtuple('Owner', 'switch port lid lmc')  # switch: index; port 0 = itself


class Fabric:
    """Switches by index, cables between them by (switch * PORTS + port), owners of LIDs."""

    def __init__(self) -> None:
        self.guids: list[int] = []
        self.index: dict[int, int] = {}
        self.far: dict[int, int] = {}  # channel -> the same cable's number at the other end
        self.live: list[set[int]] = []  # ports of each switch where somebody is
        self.owners: list[Owner] = []


def read_fabric(name: str, text: str) -> Fabric:
    """Cables count once, whichever end tells of them."""
    f = Fabric()
    cables, now, kind, switches, ends, guid = [], 0, '', [], [], 0
    for number, line in enumerate(text.splitlines(), 1):
        if line[:1] in 'SCR' and (m := NODE.match(line)):
            kind, guid = m[1], int(m[3], 16)
            if kind == 'Switch':
                zero = PORT_ZERO.search(line)
                switches.append((guid, int(zero[1]) if zero else 0, int(zero[2]) if zero else 0))
        elif line[:1] == '[':
            m = CABLE.match(line)
            if not m or not kind:
                raise BadInput(f'{name}:{number}: expected a port line of ibnetdiscover')
            port, peer, peer_port = int(m[1]), int(m[3], 16), int(m[4])
            if not 0 < port < NO_ENTRY or not 0 < peer_port < NO_ENTRY:
                raise BadInput(f'{name}:{number}: ports are numbered from 1 to 254')
            if kind == 'Switch' and m[2] == 'S':
                cables.append((guid, port, peer, peer_port))
            elif kind != 'Switch' and m[2] == 'S':
                lid = END_PORT.search(line, m.end())
                ends.append((peer, peer_port, int(lid[1]) if lid else 0, int(lid[2]) if lid else 0))
    for guid, lid, lmc in sorted(switches):
        if guid in f.index:
            raise BadInput(f'{name}: switch 0x{guid:016x} is listed twice')
        f.index[guid] = now = len(f.guids)
        f.guids.append(guid)
        f.live.append({0})
        if lid:
            f.owners.append(Owner(now, 0, lid, lmc))
    for guid, port, peer, peer_port in cables:
        if peer not in f.index:
            raise BadInput(f'{name}: switch 0x{guid:016x} port {port} leads to switch '
                           f'0x{peer:016x}, which is not listed')
        if peer == guid:
            continue  # a cable from a switch to itself carries nothing: nobody is there
        here, there = f.index[guid] * PORTS + port, f.index[peer] * PORTS + peer_port
        f.far[here], f.far[there] = there, here
        f.live[f.index[guid]].add(port)
        f.live[f.index[peer]].add(peer_port)
    for peer, peer_port, lid, lmc in ends:
        if peer not in f.index:
            raise BadInput(f'{name}: an end port leads to switch 0x{peer:016x}, which is not listed')
        f.live[f.index[peer]].add(peer_port)
        if lid:
            f.owners.append(Owner(f.index[peer], peer_port, lid, lmc))
    taken: set[int] = set()
    for o in f.owners:
        for lid in range(o.lid, o.lid + (1 << o.lmc)):
            if lid > MAX_LID or lid in taken:
                raise BadInput(f'{name}: LID {lid} has two owners or is no unicast LID')
            taken.add(lid)
    return f


def read_tables(name: str, text: str, f: Fabric) -> list[dict[int, int]]:
    """Of each switch its entries by LID; switches without a table have none."""
    tables: list[dict[int, int]] = [{} for _ in f.guids]
    now: dict[int, int] = {}
    seen = False
    for number, line in enumerate(text.splitlines(), 1):
        if line[:2] == '0x' and seen:
            if m := ENTRY.match(line):
                lid, port = int(m[1], 16), int(m[2])
                if not 0 < lid <= MAX_LID or port > NO_ENTRY:
                    raise BadInput(f'{name}:{number}: no unicast LID or no port number')
                if port != NO_ENTRY:
                    now[lid] = port
        elif line[:7] == 'Unicast':
            m = TABLE.match(line)
            if not m:
                raise BadInput(f'{name}:{number}: expected "Unicast lids [..] of switch .. guid .."')
            guid, seen = int(m[1], 16), True
            now = tables[f.index[guid]] if guid in f.index else {}
        elif line[:9] == 'Multicast':
            now = {}
    if not seen:
        raise BadInput(f'{name}: no forwarding table is in it')
    return tables


def read_sls(name: str, text: str, f: Fabric) -> dict[int, dict[int, dict[int, int]]]:
    """[dlid][switch][port of the switch where packets come in] = SL."""
    place = {o.lid + k: (o.switch, o.port) for o in f.owners for k in range(1 << o.lmc)}
    sls: dict[int, dict[int, dict[int, int]]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split('#')[0].split()
        if not words:
            continue
        try:
            slid, dlid, sl = map(int, words)
        except ValueError as e:
            raise BadInput(f'{name}:{number}: expected "SLID DLID SL"') from e
        if slid in place:
            switch, port = place[slid]
            sls.setdefault(dlid, {}).setdefault(switch, {})[port] = sl
    return sls


def read_lanes(name: str, text: str, f: Fabric) -> dict[int, list[int]]:
    """[(switch * PORTS + in) * PORTS + out] = the VL of each SL."""
    switch_of = {o.lid: o.switch for o in f.owners if o.port == 0}
    lanes: dict[int, list[int]] = {}
    now = -1
    for number, line in enumerate(text.splitlines(), 1):
        if m := LANES_OF.match(line):
            now = switch_of.get(int(m[1]), -1)
        elif line[:6] == 'ports:':
            m = LANES.match(line)
            if not m:
                raise BadInput(f'{name}:{number}: expected a line of smpquery sl2vl')
            if now >= 0:
                lanes[(now * PORTS + int(m[1])) * PORTS + int(m[2])] = [
                    int(v) for v in m[3].split('|')[:-1]]
    return lanes


class Witness:
    """Judges tables; the findings of each kind are in `found`, the counts in `count`."""

    def __init__(self, f: Fabric, tables: list[dict[int, int]], sls=None, lanes=None,
                 vls: int = VLS - 1, limit: int = 5) -> None:
        self.f, self.tables, self.sls, self.lanes = f, tables, sls, lanes
        self.vls, self.limit = vls, limit
        self.count = collections.Counter()
        self.found: dict[str, list[dict]] = collections.defaultdict(list)
        self.waits: dict[int, set[int]] = {}  # channel * VLS + VL -> the same
        self.piece = self.find_pieces()
        self.ends: list[list[int]] = [[] for _ in f.guids]  # ports where packets start
        for o in f.owners:
            self.ends[o.switch].append(o.port)

    # -- cables ------------------------------------------------------------------------------

    def find_pieces(self) -> list[int]:
        """The number of the connected piece of each switch."""
        joined = collections.defaultdict(list)
        for a, b in self.f.far.items():
            joined[a // PORTS].append(b // PORTS)
        piece = [-1] * len(self.f.guids)
        for first in range(len(piece)):
            todo = [first] if piece[first] < 0 else []
            while todo:
                at = todo.pop()
                if piece[at] < 0:
                    piece[at] = first
                    todo += joined[at]
        return piece

    def say(self, kind: str, **what) -> None:
        """Counts a finding and keeps the first ones; switches are told as GUIDs."""
        self.count[kind] += 1
        if len(self.found[kind]) < self.limit:
            if 'switch' in what:
                what['switch'] = f'0x{self.f.guids[what["switch"]]:016x}'
            self.found[kind].append(what)

    def check_ports(self) -> None:
        for s, table in enumerate(self.tables):
            live = self.f.live[s]
            for lid, port in table.items():
                if port not in live:
                    self.say('dead_ports', switch=s, lid=lid, port=port)

    # -- one LID -----------------------------------------------------------------------------

    def follow(self, owner: Owner, lid: int) -> tuple[list[int], set[int]]:
        """The channel that each switch takes (-1 = none), and the switches where the LID is
        delivered: its owner's, if that has the right entry."""
        far, taken, goal = self.f.far, [], set()
        for s, table in enumerate(self.tables):
            port = table.get(lid, NO_ENTRY)
            channel = s * PORTS + port
            if s == owner.switch and port == owner.port:
                goal.add(s)
                channel = -1
            elif channel not in far:
                channel = -1
            taken.append(channel)
        return taken, goal

    def grow(self, roots, before: list[list[int]]) -> dict[int, int]:
        """Hops to the nearest root of all switches from which the entries lead to one."""
        hops = dict.fromkeys(roots, 0)
        todo = collections.deque(roots)
        while todo:
            at = todo.popleft()
            for b in before[at]:
                if b not in hops:
                    hops[b] = hops[at] + 1
                    todo.append(b)
        return hops

    def judge(self, owner: Owner, lid: int, taken: list[int], goal: set[int]) -> None:
        n = len(taken)
        before: list[list[int]] = [[] for _ in range(n)]
        for s, channel in enumerate(taken):
            if channel >= 0:
                before[self.f.far[channel] // PORTS].append(s)
        arrive = self.grow(goal, before)
        self.count['max_hops'] = max(self.count['max_hops'],
                                     max((h for s, h in arrive.items() if self.ends[s]), default=0))
        self.count['pairs'] += sum(1 for e in self.ends if e)
        if len(arrive) == n:
            return
        for s in range(n):
            if not self.ends[s] or s in arrive:
                continue
            if self.piece[s] != self.piece[owner.switch]:
                self.count['disconnected'] += 1
                continue
            path, at = {}, s
            while at not in path and taken[at] >= 0:
                path[at] = len(path)
                at = self.f.far[taken[at]] // PORTS
            if at in path:
                ring = [w for w, place in path.items() if place >= path[at]]
                self.say('loops', switch=s, lid=lid,
                         ring=[f'0x{self.f.guids[w]:016x}' for w in ring])
            else:
                port = self.tables[at].get(lid)
                self.say('unreachable', switch=s, lid=lid, ends_at=f'0x{self.f.guids[at]:016x}',
                         entry=port)

    def wait_plain(self, taken: list[int]) -> None:
        """All packets are in VL 0."""
        used = [bool(e) for e in self.ends]
        far, waits = self.f.far, self.waits
        if not all(used):
            for s in [s for s, u in enumerate(used) if u]:
                while taken[s] >= 0 and not used[far[taken[s]] // PORTS]:
                    s = far[taken[s]] // PORTS
                    used[s] = True
        for s, channel in enumerate(taken):
            if channel >= 0 and used[s]:
                then = taken[far[channel] // PORTS]
                if then >= 0:
                    waits.setdefault(channel * VLS, set()).add(then * VLS)

    def starts(self, lid: int) -> set[tuple[int, int, int]]:
        """(switch, port where the packet comes in, SL) of all packets to this LID."""
        told = self.sls.get(lid, {}) if self.sls is not None else {}
        starts = set()
        for s, ports in enumerate(self.ends):
            here = told.get(s)
            if not here:
                starts.update((s, p, 0) for p in ports)
                continue
            others = set(here.values())
            for p in ports:
                starts.update((s, p, sl) for sl in ([here[p]] if p in here else others))
        if self.lanes is None:  # the port does not matter
            starts = {(s, 0, sl) for s, _, sl in starts}
        return starts

    def lane(self, s: int, came: int, channel: int, sl: int) -> int:
        if not 0 <= sl < VLS:
            return -1
        if self.lanes is None:
            return sl
        told = self.lanes.get((s * PORTS + came) * PORTS + channel % PORTS)
        return told[sl] if told else -1

    def wait_lanes(self, lid: int, taken: list[int]) -> None:
        far, waits, been = self.f.far, self.waits, set()
        for s, came, sl in sorted(self.starts(lid)):
            held = -1
            while taken[s] >= 0:
                channel = taken[s]
                vl = self.lane(s, came, channel, sl)
                if not 0 <= vl < self.vls:
                    self.say('bad_lanes', switch=s, lid=lid, sl=sl, vl=vl, port=channel % PORTS,
                             in_port=came)
                    break
                node = channel * VLS + vl
                if held >= 0:
                    waits.setdefault(held, set()).add(node)
                if (node, sl) in been:
                    break
                been.add((node, sl))
                held = node
                s, came = far[channel] // PORTS, far[channel] % PORTS
            else:
                if taken[s] < 0 and held < 0 and not 0 <= sl < VLS:
                    self.say('bad_lanes', switch=s, lid=lid, sl=sl, vl=-1)

    # -- cycles ------------------------------------------------------------------------------

    def peel(self) -> dict[int, list[int]]:
        """What each channel waits for, without those that cannot be on a cycle."""
        after = {a: set(b) for a, b in self.waits.items()}
        before: dict[int, set[int]] = collections.defaultdict(set)
        for a, targets in self.waits.items():
            for b in targets:
                before[b].add(a)
                after.setdefault(b, set())
        todo = [a for a in after if not after[a] or not before[a]]
        while todo:
            a = todo.pop()
            if a not in after:
                continue
            for b in after.pop(a):
                before[b].discard(a)
                if not before[b]:
                    todo.append(b)
            for b in before.pop(a, ()):
                if b in after:
                    after[b].discard(a)
                    if not after[b]:
                        todo.append(b)
        return {a: sorted(b) for a, b in after.items()}

    @staticmethod
    def knots(after: dict[int, list[int]]) -> list[list[int]]:
        """Strongly connected components that have a cycle."""
        order, seen = [], set()
        for first in sorted(after):
            todo = [(first, False)]
            while todo:
                a, done = todo.pop()
                if done:
                    order.append(a)
                elif a not in seen:
                    seen.add(a)
                    todo.append((a, True))
                    todo += [(b, False) for b in after[a] if b not in seen]
        before: dict[int, list[int]] = collections.defaultdict(list)
        for a, targets in after.items():
            for b in targets:
                before[b].append(a)
        knots, seen = [], set()
        for first in reversed(order):
            knot, todo = [], [first]
            while todo:
                a = todo.pop()
                if a not in seen:
                    seen.add(a)
                    knot.append(a)
                    todo += before[a]
            if len(knot) > 1 or (knot and knot[0] in after[knot[0]]):
                knots.append(sorted(knot))
        return knots

    @staticmethod
    def shortest(after: dict[int, list[int]], knot: list[int]) -> list[int]:
        """A shortest cycle through the first channel of a knot."""
        inside, start = set(knot), knot[0]
        came: dict[int, int] = {}
        todo = collections.deque([start])
        while start not in came:
            a = todo.popleft()
            for b in after[a]:
                if b in inside and b not in came:
                    came[b] = a
                    todo.append(b)
        cycle, at = [start], came[start]
        while at != start:
            cycle.append(at)
            at = came[at]
        return cycle[:1] + cycle[:0:-1]

    def check_cycles(self) -> None:
        after = self.peel()
        per_vl: collections.Counter = collections.Counter()
        for knot in self.knots(after):
            per_vl.update(node % VLS for node in knot)
            cycle = [{'switch': f'0x{self.f.guids[c // VLS // PORTS]:016x}',
                      'port': c // VLS % PORTS, 'vl': c % VLS} for c in self.shortest(after, knot)]
            if len(self.found['credit_loops']) < self.limit:
                self.found['credit_loops'].append({'channels': len(knot), 'cycle': cycle})
        self.count['credit_loop_channels'] = sum(per_vl.values())
        self.per_vl = {str(vl): n for vl, n in sorted(per_vl.items())}

    # ----------------------------------------------------------------------------------------

    def run(self) -> dict:
        self.check_ports()
        for owner in self.f.owners:
            for lid in range(owner.lid, owner.lid + (1 << owner.lmc)):
                taken, goal = self.follow(owner, lid)
                self.judge(owner, lid, taken, goal)
                if self.sls is None and self.lanes is None:
                    self.wait_plain(taken)
                else:
                    self.wait_lanes(lid, taken)
        self.check_cycles()
        kinds = ('pairs', 'unreachable', 'disconnected', 'loops', 'dead_ports', 'bad_lanes',
                 'credit_loop_channels', 'max_hops')
        result = {kind: self.count[kind] for kind in kinds}
        result['credit_loop_channels_per_vl'] = self.per_vl
        bad = ('unreachable', 'loops', 'dead_ports', 'bad_lanes', 'credit_loop_channels')
        result['ok'] = not any(result[kind] for kind in bad)
        result['findings'] = {kind: found for kind, found in self.found.items() if found}
        return result


def read(path: str) -> str:
    with open(path, encoding='utf-8', errors='replace') as file:
        return file.read()


def check_files(fabric: str, lfts: str, sl: str | None = None, sl2vl: str | None = None,
                vls: int = VLS - 1, limit: int = 5) -> dict:
    """What the program prints, of these files."""
    f = read_fabric(fabric, read(fabric))
    tables = read_tables(lfts, read(lfts), f)
    sls = read_sls(sl, read(sl), f) if sl else None
    lanes = read_lanes(sl2vl, read(sl2vl), f) if sl2vl else None
    return Witness(f, tables, sls, lanes, vls, limit).run()


def main() -> int:
    parser = argparse.ArgumentParser(description='A second checker of forwarding tables.')
    parser.add_argument('fabric', metavar='FABRIC', help='output of ibnetdiscover')
    parser.add_argument('lfts', metavar='LFTS', help='output of dump_lfts')
    parser.add_argument('--sl', help='lines SLID DLID SL')
    parser.add_argument('--sl2vl', help='output of smpquery sl2vl')
    parser.add_argument('--vls', type=int, default=VLS - 1, help='data VLs there are (15)')
    parser.add_argument('--limit', type=int, default=5, help='findings of a kind that are told (5)')
    a = parser.parse_args()
    try:
        result = check_files(a.fabric, a.lfts, a.sl, a.sl2vl, a.vls, a.limit)
    except (BadInput, OSError) as e:
        print(f'witness: {e}', file=sys.stderr)
        return 2
    print(json.dumps(result, indent=1))
    return 0 if result['ok'] else 1


if __name__ == '__main__':
    sys.exit(main())
