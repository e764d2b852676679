# SPDX-License-Identifier: BSD-2-Clause
"""A host, a leaf's uplink and a spine are lost and come back, with their traps and without."""
import random
import time

import pytest
from conftest import PATIENCE, wait_for
from heddle_lab import madlog
from heddle_lab.place import ranks, usable_hosts

TREE = 'pgft:3:4,4,3:1,4,2:1,1,1'
SWEEP_S = 10  # the default sweep_interval: what a lost trap costs at most


@pytest.fixture(scope='module')
def cluster(make_cluster):
    c = make_cluster(TREE, 3)
    c.converge()
    c.expect_whole()
    c.seed = random.randrange(1 << 32)
    print(f'random.Random({c.seed})')
    c.rng = random.Random(c.seed)
    return c


def victims(cluster):
    """A host without a daemon, a (leaf, port) of an uplink, a spine."""
    taken = {d['node'] for d in cluster.daemons.values()}
    rank = ranks(cluster.net)
    host = cluster.rng.choice([h for h in usable_hosts(cluster.net) if h.id not in taken][:-1])
    leaf = cluster.rng.choice([s for s in cluster.net.switches if rank[s.id] == 0])
    uplink = cluster.rng.choice([p for p, peer, _ in cluster.net.links_of(leaf) if peer.is_switch])
    spine = cluster.rng.choice([s for s in cluster.net.switches if rank[s.id] == 1])
    return host, (leaf, uplink), spine


def settle(cluster, nodes, no_trap):
    """Until the fabric has this many nodes and nothing is wrong with it."""
    limit = (15 + (2 * SWEEP_S if no_trap else 0)) * PATIENCE
    good = wait_for(lambda: cluster.scan().nodes == nodes and not cluster.problems(), limit)
    assert good, (cluster.scan().nodes, nodes, cluster.problems(), cluster.logs())
    cluster.converge()


@pytest.mark.parametrize('no_trap', [False, True], ids=['trap', 'no-trap'])
@pytest.mark.parametrize('what', ['host', 'uplink', 'spine'])
def test_lost_and_back(cluster, what, no_trap):
    host, (leaf, port), spine = victims(cluster)
    quiet = ['--no-trap'] if no_trap else []
    change = {'host': ('node', host.id), 'uplink': ('link', leaf.id, str(port)),
              'spine': ('node', spine.id)}[what]
    print(what, change)
    before = cluster.scan()
    gone = 0 if what == 'uplink' else 1
    cluster.lab(change[0], 'down', *quiet, *change[1:])
    settle(cluster, before.nodes - gone, no_trap)
    cluster.lab(change[0], 'up', *quiet, *change[1:])
    settle(cluster, before.nodes, no_trap)
    after = cluster.scan()
    assert {k: p['lid'] for k, p in after.ports.items()} == \
        {k: p['lid'] for k, p in before.ports.items()}
    assert after.routes() == before.routes()


def test_a_host_that_comes_and_goes_changes_no_table(cluster):
    host, _, _ = victims(cluster)
    nodes = cluster.scan().nodes
    since = time.monotonic_ns()
    cluster.lab('node', 'down', host.id)
    settle(cluster, nodes - 1, False)
    cluster.lab('node', 'up', host.id)
    settle(cluster, nodes, False)
    for log in cluster.mad_logs(cluster.shards):
        assert madlog.sets_sent(madlog.read(log, since), madlog.LFT) == []
