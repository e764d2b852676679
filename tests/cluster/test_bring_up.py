# SPDX-License-Identifier: BSD-2-Clause
"""From an unconfigured fabric to a whole one, by any number of shards, with the same tables."""
import pytest
from heddle_lab.evidence import check_tables

SMALL = 'pgft:2:4,4:1,2:1,2'
TREE = 'pgft:3:4,4,3:1,4,2:1,1,1'


@pytest.mark.parametrize('fabric, shards', [(SMALL, 1), (SMALL, 2), (TREE, 3)])
def test_a_fabric_comes_up(make_cluster, fabric, shards):
    cluster = make_cluster(fabric, shards)
    print(f'{fabric}, {shards} shards: {cluster.converge():.2f} s')
    cluster.expect_whole()
    scan = cluster.scan()
    assert scan.nodes == len(cluster.net.nodes)
    assert cluster.records() == len(scan.ports)
    cluster.trace(40)
    cluster.check_routes()
    found = cluster.run('ibnetdiscover')
    assert found.count('\nSwitch') == len(cluster.net.switches)
    assert found.count('\nCa') == len(cluster.net.hosts)
    owners = {p['sm_lid'] for p in scan.ports.values()}
    assert owners == {cluster.lid(n, scan) for n in cluster.shards}


def test_domains_by_rules(make_cluster, tmp_path):
    rules = tmp_path / 'domains.conf'
    rules.write_text('domains = ( { name = "leaves"; '
                     'ranges = ["0x0248020100000000-0x02480201ffffffff"]; }, '
                     '{ name = "spines"; switches = ["0x0248020200000100", "0x0248020200000200"]; }'
                     ' );\n')
    cluster = make_cluster(SMALL, 3, '--domains', str(rules))
    cluster.converge()
    cluster.expect_whole()
    assert set(cluster.domains()) == {'fabric', 'leaves', 'spines'}


def test_tables_do_not_depend_on_the_number_of_shards(make_cluster):
    routes = {}
    for shards in (1, 2, 3, 5):
        cluster = make_cluster(TREE, shards)
        cluster.converge()
        cluster.expect_whole()
        scan = cluster.scan()
        assert check_tables(scan) == []
        routes[shards] = scan.routes()
        cluster.lab('down')
    for shards, other in routes.items():
        different = [k for k in routes[1] if routes[1][k] != other.get(k)]
        assert not different, f'{shards} shards: {len(different)} entries differ: {different[:3]}'


def test_a_cluster_that_starts_again_changes_nothing(make_cluster):
    cluster = make_cluster(TREE, 3)
    cluster.converge()
    before = cluster.scan()
    for name in cluster.shards:
        cluster.lab('kill', name, 'TERM')
    for name in cluster.shards:
        cluster.lab('start', name)
    cluster.converge()
    cluster.expect_whole()
    after = cluster.scan()
    assert {k: p['lid'] for k, p in after.ports.items()} == \
        {k: p['lid'] for k, p in before.ports.items()}
    assert after.tables == before.tables
