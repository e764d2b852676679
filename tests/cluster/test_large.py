# SPDX-License-Identifier: BSD-2-Clause
"""2,048 hosts: all of it right, and after each of twenty takeovers still right.

How long that takes is measured by bench/bring_up.py and bench/takeover.py, not judged here.
"""
import pytest

TREE = 'pgft:3:16,16,8:1,16,4:1,1,1'
TAKEOVERS = 20


@pytest.fixture(scope='module')
def cluster(make_cluster):
    c = make_cluster(TREE, 3)
    c.converge(300)
    return c


def test_everything_is_up(cluster):
    cluster.expect_whole()
    assert cluster.records() == len(cluster.scan().ports) == 2368
    cluster.trace(200)
    cluster.check_routes()


def test_twenty_takeovers(cluster):
    for i in range(TAKEOVERS):
        scan = cluster.scan()
        owned = {n: sum(p['sm_lid'] == cluster.lid(n, scan) for p in scan.ports.values())
                 for n in cluster.shards}
        victim = max(sorted(owned), key=owned.get)
        takeover = cluster.kill_and_judge(victim)
        assert takeover.problems == [], f'{i}: {victim}: {cluster.logs()}'
        cluster.converge()
        cluster.lab('start', victim)
        cluster.converge()
