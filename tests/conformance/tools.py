# SPDX-License-Identifier: BSD-2-Clause
"""What is asked of each simulator, and what came out: a list of Answers in a fixed order.

Phases follow each other; within a phase two tools run at once, unless they read traffic counters.
Node addresses come from the fabric file and from the LIDs that the manager gave, which must be the
same on both sides (they are compared like everything else)."""
import random
import re
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor

from simulators import Failed, find_program

PARALLEL = 2
MANY_NODES = 100  # so many, and records of all pairs of them are too many
SHORT = ('-t', '100')  # for what ibsim never answers
# tool: what the list of differences calls it; what: the command as a person would type it
Answer = namedtuple('Answer', 'tool what lines')
Query = namedtuple('Query', 'tool argv')

# What can never be the same: pids, times, and the order of lines that the tool itself leaves open.
NORMALISE = (
    (re.compile(r'generated on .*'), 'generated on <date>'),
    (re.compile(r'^\w{3} \d+ \d\d:\d\d:\d\d \d+ \[[0-9A-F]+\] '), '<time> [<thread>] '),
    (re.compile(r'^(ibwarn|ibdebug|ibpanic): \[\d+\]'), r'\1: [<pid>]'),
    (re.compile(r'heddle-conformance-\d+-\d+'), '<simulator>'),
)

SAQUERY = ('CPI', 'NR', 'PIR', 'SL2VL', 'PKTR', 'VLAR', 'IIR', 'LR', 'SR', 'MCMR', 'LFTR', 'MFTR', 'GIR',
           'SWIR', 'SMIR')
LEFT_BY_OSMTEST = ('IIR', 'SR', 'MCMR', 'MFTR', 'SWIR', 'SMIR', '-g', '-m', '-S', '-I')
SAQUERY_OPTIONS = ('-p', '-N', '-s', '-g', '-m', '-x', '-c', '-S', '-I', '-D')
OF_NODE = ('nodeinfo', 'nodedesc', 'guidinfo')
OF_PORT = ('portinfo', 'portinfoextended', 'pkeys', 'sl2vl', 'vlarb', 'mepi')
WALKS = (('ibnetdiscover',), ('ibnetdiscover', '-p'), ('ibnetdiscover', '-l'),
         ('ibnetdiscover', '-f'), ('ibnetdiscover', '-s'), ('ibnetdiscover', '-g'),
         ('ibnetdiscover', '-m'), ('iblinkinfo',), ('iblinkinfo', '-l'), ('iblinkinfo', '-p'),
         ('iblinkinfo', '-d'), ('ibswitches',), ('ibhosts',), ('ibnodes',), ('dump_lfts',),
         ('dump_lfts', '-a'), ('dump_lfts', '-n'), ('dump_mfts',), ('ibidsverify',), ('ibqueryerrors',), ('sminfo',),
         ('ibstat',), ('ibaddr',))


def normalise(text):
    lines = text.splitlines()
    for pattern, replacement in NORMALISE:
        lines = [pattern.sub(replacement, line) for line in lines]
    return lines


class Recorder:
    """Runs tools at the client's host and keeps what they print. rand decides what is sampled."""

    def __init__(self, sim, fabric, seed):
        self.sim, self.fabric, self.seed = sim, fabric, seed
        self.answers = []
        self.routes = fabric.routes(fabric.client)
        self.node_at = {route: node for node, route in self.routes.items()}

    def ask(self, queries, parallel=PARALLEL):
        with ThreadPoolExecutor(parallel) as pool:
            self.answers += pool.map(self._answer, queries)

    def _answer(self, query):
        done = self.sim.run(self.fabric.client, find_program(query.argv[0]), *query.argv[1:])
        self.sim.check_alive()
        lines = normalise(done.stdout) + [f'stderr: {line}' for line in normalise(done.stderr)]
        if done.returncode != 0:
            lines.append(f'exit status: {done.returncode}')
        return Answer(query.tool, ' '.join(query.argv), lines)

    # -- the phases

    def read_lids(self):
        """node GUID -> LID, as OpenSM tells."""
        done = self.sim.run(self.fabric.client, find_program('saquery'), 'NR')
        found = re.findall(r'\tlid\.+(\w+)\n(?:.*\n)*?.*node_guid\.+(0x\w{16})', done.stdout)
        if not found:
            raise Failed(f'saquery NR tells no LIDs: {done.stdout[:200]}{done.stderr[:200]}')
        self.lids = {int(guid, 0): int(lid, 0) for lid, guid in found}

    def lid(self, node_id):
        return self.lids[self.fabric.net.nodes[node_id].guid]

    def _few_nodes(self):
        return len(self.lids) < MANY_NODES

    def walk(self):
        self.ask(Query(argv[0], argv) for argv in WALKS)

    def query_attributes(self, sample, ports):
        """smpquery: every attribute of the sampled nodes by LID and directed route; of so many
        ports each (None = all)."""
        rand = random.Random(self.seed)
        queries = []
        for node_id in self.fabric.sample(sample, self.seed):
            lid, route = str(self.lid(node_id)), ','.join(map(str, self.routes[node_id]))
            for name, tail in self._attributes(node_id, ports, rand):
                queries += [Query(f'smpquery {name}', ('smpquery', name, lid, *tail)),
                            Query(f'smpquery -D {name}', ('smpquery', '-D', name, route, *tail))]
        self.ask(queries)

    def query_combined(self, sample=1, ports=1):
        """smpquery by the LID of a switch and a directed route from there. ibsim never answers, so
        a short time-out; few of them where it is asked."""
        rand = random.Random(self.seed)
        nodes = [i for i in self.fabric.sample(None, self.seed) if self._via(i) is not None]
        queries = []
        for node_id in nodes if sample is None else rand.sample(nodes, sample):
            queries += [Query(f'smpquery -c {name}', ('smpquery', *SHORT, '-c', name,
                                                      *self._via(node_id), *tail))
                        for name, tail in self._attributes(node_id, ports, rand)]
        self.ask(queries)

    def query_as_directed(self, combined):
        """The same questions as these answers to query_combined, by directed routes."""
        lids = {str(self.lid(i)): self.routes[i] for i in self.routes}
        queries = []
        for answer in combined:
            _, _, _, _, name, lid, rest, *tail = answer.what.split()
            route = ','.join(map(str, lids[lid])) + rest.removeprefix('0')
            queries.append(Query(f'smpquery -D {name}', ('smpquery', '-D', name, route, *tail)))
        self.ask(queries)

    def _attributes(self, node_id, ports, rand):
        """(smpquery's operation, further arguments)"""
        node = self.fabric.net.nodes[node_id]
        numbers = list(range(0 if node.is_switch else 1, node.num_ports + 1))
        if ports is not None and len(numbers) > ports:
            numbers = sorted(rand.sample(numbers, ports))
        return [(name, ()) for name in OF_NODE + ('switchinfo',) * node.is_switch] + \
            [(name, (str(n),)) for name in OF_PORT for n in numbers]

    def _via(self, node_id):
        """(LID of the switch before the last hop, the rest of the route), or None."""
        route = self.routes[node_id]
        before = self.node_at.get(route[:-1])
        if before is None or not self.fabric.net.nodes[before].is_switch:
            return None
        return str(self.lid(before)), f'0,{route[-1]}'

    def query_tables(self, sample):
        """ibroute, ibtracert, ibportstate and smpdump on the sampled nodes."""
        queries = []
        nodes = self.fabric.sample(sample, self.seed)
        for node_id in nodes:
            lid, route = str(self.lid(node_id)), ','.join(map(str, self.routes[node_id]))
            if self.fabric.net.nodes[node_id].is_switch:
                queries += [Query('ibroute', ('ibroute', *more, lid))
                            for more in ((), ('-a',), ('-n',), ('-M',))]
                queries += [Query('ibroute', ('ibroute', *more, '-D', route))
                            for more in ((), ('-M',))]
            else:  # it asks a switch's peers by combined routes, which ibsim never answers
                queries.append(Query('ibportstate', ('ibportstate', lid, '1')))
            queries.append(Query('smpdump', ('smpdump', '-D', route, '0x11')))
            queries.append(Query('smpquery nodeinfo', (
                'smpquery', '-G', 'nodeinfo', self._port_guid(node_id))))
        rand = random.Random(self.seed)
        for _ in nodes:
            pair = [str(self.lid(i)) for i in rand.sample(nodes, 2)]
            queries.append(Query('ibtracert', ('ibtracert', *pair)))
        self.ask(queries)

    def _port_guid(self, node_id):
        node = self.fabric.net.nodes[node_id]
        return f'{node.guid if node.is_switch else node.guid + 1:#x}'

    def query_counters(self, sample):
        """perfquery: everything is cleared, then read, one by one: a query is traffic itself."""
        targets = [(str(self.lid(i)), self.fabric.net.nodes[i])
                   for i in self.fabric.sample(sample, self.seed)]
        queries = []
        for lid, node in targets:
            numbers = range(1, node.num_ports + 1)
            queries += [('perfquery', '-R', lid, str(n)) for n in numbers]
            queries += [('perfquery', '-x', '-R', lid, str(n)) for n in numbers]
        for lid, node in targets:
            queries += [('perfquery', lid, '1'), ('perfquery', '-x', lid, '1'),
                        ('perfquery', '-r', lid, '1')]
            if node.is_switch:
                queries += [('perfquery', '-a', lid), ('perfquery', '-x', '-a', lid),
                            ('perfquery', '-l', lid), ('perfquery', '-x', '-l', lid)]
        self.ask((Query(f'perfquery {argv[1]}' if argv[1].startswith('-') else 'perfquery', argv)
                  for argv in queries), parallel=1)

    def query_records(self, pairs=4):
        """saquery: every kind of record, and names, LIDs and paths of some nodes."""
        words = [w for w in SAQUERY + SAQUERY_OPTIONS if w != '-p' or self._few_nodes()]
        queries = [Query(f'saquery {word}', ('saquery', word)) for word in words]
        rand = random.Random(self.seed)
        nodes = list(self.routes)
        for _ in range(pairs):
            one, two = (self.fabric.net.nodes[i] for i in rand.sample(nodes, 2))
            lids = self.lids[one.guid], self.lids[two.guid]
            queries += [
                Query('saquery --src-to-dst', ('saquery', '--src-to-dst', '{}:{}'.format(*lids))),
                Query('saquery -L', ('saquery', '-L', one.description)),
                Query('saquery -G', ('saquery', '-G', one.description)),
                Query('saquery -O', ('saquery', '-O', str(lids[0]))),
                Query('saquery -U', ('saquery', '-U', f'{two.guid:#x}')),
                Query('saquery NR', ('saquery', 'NR', str(lids[1]))),
                Query('saquery PIR', ('saquery', 'PIR', f'{lids[0]}/1')),
                Query('saquery LR', ('saquery', 'LR', str(lids[0])))]
        self.ask(queries)

    def run_osmtest(self):
        """An inventory, all validations against it, and what they left in the SA."""
        file = 'inventory'
        more = () if self._few_nodes() else ('-d1',)  # no paths of all pairs
        top = f'{max(self.lids.values()) + 1:#x}'
        flows = (('-f', 'c', '-m', top, '-i', file, *more), ('-f', 'v', '-i', file, *more),
                 ('-f', 's', '-i', file), ('-f', 'm', '-i', file), ('-f', 'q', '-i', file))
        # -l: not into /var/log, where the next run would append
        self.ask((Query('osmtest', ('osmtest', *flow, '-l', 'osmtest.log')) for flow in flows),
                 parallel=1)
        with open(f'{self.sim.directory}/{file}', encoding='utf-8', errors='replace') as f:
            self.answers.append(Answer('osmtest', 'the inventory', normalise(f.read())))
        self.ask(Query(f'saquery {word}', ('saquery', word)) for word in LEFT_BY_OSMTEST)
