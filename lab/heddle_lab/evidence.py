# SPDX-License-Identifier: BSD-2-Clause
"""What can be said about a fabric and a takeover from outside the shards.

Sources: heddle-portscan (every PortInfo and table, read by a client of its own) and the MAD logs of
the preload. Nothing that heddle says about itself is used here.
"""
import json

from heddle_lab import madlog

ACTIVE, LINK_UP = 4, 5
NO_ROUTE = 255
# For `sh -c`: arguments are pairs of LIDs "A,B"; prints those that ibtracert cannot trace.
TRACE_SCRIPT = 'for p; do ibtracert ${p%,*} ${p#*,} >/dev/null 2>&1 || echo $p; done'


class Scan:
    """ports: (node GUID, port) -> line; links: (switch GUID, port) -> line; tables: switch GUID ->
    bytes; nodes, unanswered: numbers."""

    def __init__(self, text):
        self.ports, self.links, self.tables = {}, {}, {}
        self.nodes, self.unanswered = 0, None
        for line in text.splitlines():
            item = json.loads(line)
            kind = item['kind']
            if kind == 'port':
                self.ports[item['node'], item['port']] = item
            elif kind == 'link':
                self.links[item['node'], item['port']] = item
            elif kind == 'lft':
                self.tables[item['node']] = bytes.fromhex(item['hex'])
            elif kind == 'end':
                self.nodes, self.unanswered = item['nodes'], item['unanswered']

    @property
    def end_ports(self):
        return [p for p in self.ports.values() if p['type'] != 'switch']

    def lid_of_node(self, guid):
        """The LID of the first port of a node, 0 if it was not seen."""
        lids = [p['lid'] for (node, _), p in sorted(self.ports.items()) if int(node, 16) == guid]
        return lids[0] if lids else 0

    def random_pairs(self, count, rng):
        """"A,B" of LIDs of end ports, for TRACE_SCRIPT."""
        lids = sorted(p['lid'] for p in self.end_ports)
        return ['{},{}'.format(*rng.sample(lids, 2)) for _ in range(count)]

    def not_active(self):
        """Ports with a link that are not ACTIVE."""
        bad = [f'{node} port {port}: state {i["state"]}' for (node, port), i in self.links.items()
               if i['phys'] == LINK_UP and i['state'] != ACTIVE]
        return bad + [f'{p["guid"]}: state {p["state"]}' for p in self.end_ports
                      if p['state'] != ACTIVE]

    def bad_lids(self):
        """Ports without a LID, and LIDs that two ports have."""
        seen, bad = {}, []
        for p in self.ports.values():
            if p['lid'] == 0:
                bad.append(f'{p["guid"]} has no LID')
            elif seen.setdefault(p['lid'], p['guid']) != p['guid']:
                bad.append(f'LID {p["lid"]}: {p["guid"]} and {seen[p["lid"]]}')
        return bad

    def routes(self):
        """(switch GUID, destination port GUID) -> output port: the tables without LIDs."""
        return {(switch, p['guid']): table[p['lid']] for switch, table in self.tables.items()
                for p in self.ports.values() if 0 < p['lid'] < len(table)}


# -- tables --------------------------------------------------------------------------------


def _next_hops(scan, lid):
    """switch -> (output port, next node, its port) towards a LID; None in place of the node where
    the way ends: at the switch itself, in a port without a link, or with no entry at all."""
    hops = {}
    for switch, table in scan.tables.items():
        port = table[lid] if lid < len(table) else NO_ROUTE
        link = scan.links.get((switch, port))
        hops[switch] = (port, link['peer'] if link else None, link['peer_port'] if link else None)
    return hops


def _walk_all(scan, target, hops, problems):
    """From every switch to target: reports loops and dead ends; each switch is judged once."""
    good = set()
    if target['type'] == 'switch':
        good.add(target['node'])
    for start in hops:
        way, at = [], start
        seen = set()
        while at not in good:
            if at in seen:
                problems.append(f'loop towards {target["guid"]} at {at}')
                break
            seen.add(at)
            way.append(at)
            port, peer, peer_port = hops[at]
            if peer is None:
                problems.append(f'no way from {at} to {target["guid"]}: port {port}')
                break
            if peer == target['node'] and (target['type'] == 'switch' or
                                           peer_port == target['port']):
                good.update(way)
                break
            if peer not in hops:
                problems.append(f'{at} sends what is for {target["guid"]} to {peer}')
                break
            at = peer
        else:
            good.update(way)


def _has_cycle(graph):
    """Of a dict node -> set of nodes, by taking away what nothing depends on."""
    incoming = {}
    for targets in graph.values():
        for t in targets:
            incoming[t] = incoming.get(t, 0) + 1
    ready = [n for n in graph if n not in incoming]
    left = set(graph) | set(incoming)
    while ready:
        n = ready.pop()
        left.discard(n)
        for t in graph.get(n, ()):
            incoming[t] -= 1
            if incoming[t] == 0:
                ready.append(t)
    return bool(left)


def check_tables(scan, switches=True, limit=10):
    """Problems of the tables as read back: no way, loops, credit loops. [] = all is well.

    switches: their ports 0 are destinations like any other (OpenSM does not join all of them).
    Traffic begins at end ports; a channel (switch, output port) depends on the next one of the
    same way. Only ways that begin at a switch with end ports count for credit loops."""
    problems = []
    targets = [p for p in scan.ports.values() if switches or p['type'] != 'switch']
    entry = {l['peer']: node for (node, _), l in scan.links.items() if l['peer'] not in scan.tables}
    leaves = set(entry.values())
    depends = {}
    for target in targets:
        if len(problems) >= limit:
            return problems[:limit]
        hops = _next_hops(scan, target['lid'])
        _walk_all(scan, target, hops, problems)
        if problems:
            continue
        for leaf in leaves:
            at, channel = leaf, None
            while at in hops:
                port, peer, _ = hops[at]
                following = (at, port)
                if channel is not None:
                    known = depends.setdefault(channel, set())
                    if following in known:
                        break  # the rest of this way was seen from another leaf
                    known.add(following)
                channel, at = following, peer
    if not problems and _has_cycle(depends):
        problems.append('the tables have a credit loop')
    return problems[:limit]


# -- takeover ------------------------------------------------------------------------------


class Takeover:
    """problems is [] when the takeover is complete and touched nothing that it must not."""

    def __init__(self, before, after, dead_lid, live_lids, logs, killed_ns):
        self.problems = []
        self.taken = {k: p for k, p in before.ports.items() if p['sm_lid'] == dead_lid}
        self.lft_writes = 0
        self.lids_changed = sum(1 for k, p in before.ports.items()
                                if k in after.ports and after.ports[k]['lid'] != p['lid'])
        self.tables_changed = sum(1 for k, t in before.tables.items() if after.tables.get(k) != t)
        self._judge_owners(after, live_lids)
        answers = self._first_answers(logs, killed_ns, dead_lid)
        silent = [p for p in self.taken.values() if p['lid'] not in answers]
        if not self.taken:
            self.problems.append(f'no port named the dead shard (LID {dead_lid})')
        if silent:
            self.problems.append(f'{len(silent)} ports have no answered Set(PortInfo), among them '
                                 f'{silent[0]["guid"]}')
        self.ms = None
        if self.taken and not silent:
            last = max(answers[p['lid']] for p in self.taken.values())
            self.ms = (last - killed_ns) / 1e6
        if self.lft_writes:
            self.problems.append(f'{self.lft_writes} Set(LFT) were sent')
        if self.lids_changed or self.tables_changed:
            self.problems.append(f'{self.lids_changed} LIDs and {self.tables_changed} tables '
                                 'changed')

    def _judge_owners(self, after, live_lids):
        wrong = [k for k in self.taken if k not in after.ports
                 or after.ports[k]['sm_lid'] not in live_lids]
        if wrong:
            self.problems.append(f'{len(wrong)} ports do not name a living owner, among them '
                                 f'{wrong[0][0]}')

    def _first_answers(self, logs, killed_ns, dead_lid):
        """LID of a port -> time of the first answer to a Set(PortInfo) that names another SM."""
        answers = {}
        for log in logs:
            mads = list(madlog.read(log, killed_ns))
            self.lft_writes += len(madlog.sets_sent(mads, madlog.LFT))
            for request, answer in madlog.port_sets_answered(mads):
                lid, sm_lid = int(request.extra.get('lid', 0)), int(request.extra.get('smlid', 0))
                if sm_lid not in (0, dead_lid):
                    answers[lid] = min(answers.get(lid, answer.ns), answer.ns)
        return answers
