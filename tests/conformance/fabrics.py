# SPDX-License-Identifier: BSD-2-Clause
"""The fabrics of the comparison: real ones, generated trees, and a torus written here.

Each is written by `heddle fabric convert`, so that both simulators read the very same file."""
import os
import random
import subprocess
import sys

from simulators import Failed

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path.insert(0, os.path.join(ROOT, 'lab'))

from heddle_lab.net import read_net  # noqa: E402
from heddle_lab.place import usable_hosts  # noqa: E402

CONVERT_TIMEOUT_S = 60
REAL = ('small-qdr-144', 'rail-ndr-542', 'rail-dgx-140', 'director-edr-1470')


def real_fabrics_dir():
    return os.environ.get('HEDDLE_FABRICS') or os.path.join(ROOT, '..', 'shared', 'fabrics')


def real_fabric(name):
    """The path, or None where the real fabrics are absent."""
    path = os.path.join(real_fabrics_dir(), name + '.net')
    return path if os.path.exists(path) else None


class Fabric:
    """name, path of the net file, net (nodes and cables), and who sits where."""

    def __init__(self, name, path):
        self.name, self.path = name, path
        self.net = read_net(path)
        hosts = usable_hosts(self.net)
        if len(hosts) < 2:
            raise Failed(f'{name}: fewer than two hosts that a client can sit on')
        self.manager, self.client = hosts[0].id, hosts[len(hosts) // 2].id

    def routes(self, start_id):
        """node id -> directed route from the first port of a node (breadth first, by port)."""
        routes, queue = {start_id: (0,)}, [start_id]
        for node_id in queue:
            node = self.net.nodes[node_id]
            if node_id != start_id and not node.is_switch:
                continue
            for port, peer, _ in self.net.links_of(node):
                if peer.id not in routes:
                    routes[peer.id] = routes[node_id] + (port,)
                    queue.append(peer.id)
        return routes

    def sample(self, count, seed):
        """Node ids: all, or a seeded choice that holds switches and hosts alike."""
        rand = random.Random(seed)
        reached = self.routes(self.client)
        groups = ([n.id for n in self.net.switches if n.id in reached],
                  [n.id for n in self.net.hosts if n.id in reached])
        if count is None or count >= sum(map(len, groups)):
            return groups[0] + groups[1]
        half = [min(len(g), count // 2) for g in groups]
        return [i for g, n in zip(groups, half) for i in sorted(rand.sample(g, n))]


def make(build, spec, directory, name=None):
    """spec: a file or a generator."""
    name = name or os.path.basename(spec).removesuffix('.net')
    path = os.path.join(str(directory), 'fabric.net')
    done = subprocess.run([os.path.join(build, 'bin', 'heddle'), 'fabric', 'convert', spec, path],
                          capture_output=True, text=True, timeout=CONVERT_TIMEOUT_S, check=False)
    if done.returncode != 0:
        raise Failed(f'{spec}: {done.stderr.strip()}')
    return Fabric(name, path)


def torus_net(size, path):
    """A torus of size[0] x size[1] x size[2] switches with a host each, as an ibsim net file.

    Ports of a switch: 1 host; then + and - of each dimension."""
    def name(at):
        return 'sw-{}-{}-{}'.format(*at)

    def step(at, dimension, sign):
        moved = list(at)
        moved[dimension] = (moved[dimension] + sign) % size[dimension]
        return tuple(moved)

    places = [(x, y, z) for x in range(size[0]) for y in range(size[1]) for z in range(size[2])]
    with open(path, 'w', encoding='ascii') as f:
        for at in places:
            f.write(f'Switch 7 "{name(at)}"\n[1] "host-{name(at)}"[1]\n')
            for dimension in range(3):
                up, down = 2 + 2 * dimension, 3 + 2 * dimension
                f.write(f'[{up}] "{name(step(at, dimension, 1))}"[{down}]\n')
                f.write(f'[{down}] "{name(step(at, dimension, -1))}"[{up}]\n')
            f.write('\n')
        for at in places:
            f.write(f'Hca 1 "host-{name(at)}"\n[1] "{name(at)}"[1]\n\n')
    return path
