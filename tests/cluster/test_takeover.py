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


def test_a_restarted_shard_takes_over_without_rediscovery(make_cluster):
    """Its stored view is as good as the owners' say that it is: nothing is read again."""
    cluster = make_cluster('pgft:3:4,4,3:1,4,2:1,1,1', 3)
    cluster.converge()
    for _ in range(2):  # the second time it owns nothing, and lacks nothing when it returns
        cluster.lab('kill', 'shard-3')
        cluster.converge()
        cluster.lab('start', 'shard-3')
        cluster.converge()
    takeover = cluster.kill_and_judge('shard-1')
    assert takeover.problems == [], cluster.logs()
    for name in cluster.running():
        with open(cluster.daemons[name]['log'], encoding='utf-8') as f:
            again = [line for line in f if 'how=bring-up' in line and ' epoch=1 ' not in line
                     and ' domain=0 ' not in line]
        assert again == [], name
