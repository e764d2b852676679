# SPDX-License-Identifier: BSD-2-Clause
"""SIGKILL of any shard, judged from outside the shards."""
import pytest

TREE = 'pgft:3:4,4,4:1,4,2:1,1,1'


@pytest.fixture(scope='module')
def cluster(make_cluster):
    c = make_cluster(TREE, 3)
    c.converge()
    c.expect_whole()
    return c


@pytest.mark.parametrize('victim', ['shard-1', 'shard-2', 'shard-3'])
def test_a_killed_shard_is_replaced(cluster, victim):
    cluster.converge()
    before = cluster.domains()
    takeover = cluster.kill_and_judge(victim)
    assert takeover.problems == [], cluster.logs()
    for name, (owner, epoch) in cluster.domains().items():
        if before[name][0] == victim:
            assert owner not in (victim, None) and epoch == before[name][1] + 1
        else:
            assert (owner, epoch) == before[name]
    print(f'{victim}: {len(takeover.taken)} ports in {takeover.ms:.0f} ms')
    cluster.converge()
    cluster.trace(20)
    assert cluster.records() == len(cluster.scan().ports)
    cluster.lab('start', victim)
    cluster.converge()
    cluster.expect_whole()


def test_two_deaths_leave_the_last_one_with_everything(cluster):
    cluster.converge()
    for victim in ('shard-3', 'shard-1'):
        if any(p['sm_lid'] == cluster.lid(victim, cluster.scan())
               for p in cluster.scan().ports.values()):
            takeover = cluster.kill_and_judge(victim)
            assert takeover.problems == [], cluster.logs()
        else:  # it came back and was given nothing yet
            cluster.lab('kill', victim)
        cluster.converge()
    scan = cluster.scan()
    assert {p['sm_lid'] for p in scan.ports.values()} == {cluster.lid('shard-2', scan)}
    cluster.expect_whole()
