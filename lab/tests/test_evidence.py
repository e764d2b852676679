# SPDX-License-Identifier: BSD-2-Clause
"""The judges must find what is wrong: tables with faults, takeovers with faults; and a fabric that
OpenSM brought up must pass."""
import json
import shutil

import pytest
from heddle_lab.evidence import Scan, Takeover, check_tables

SWITCHES = ('0xa', '0xb', '0xc')


def ring(tables):
    """Three switches in a ring (port 2 to the next, port 3 to the one before), a host on port 1 of
    each; LIDs 1..3 are the hosts', 4..6 the switches'."""
    lines = []
    for i, switch in enumerate(SWITCHES):
        host = f'0x{i + 1}'
        lines += [
            {'kind': 'port', 'type': 'ca', 'node': host, 'guid': host + '1', 'port': 1,
             'lid': i + 1, 'sm_lid': 1, 'state': 4, 'phys': 5},
            {'kind': 'port', 'type': 'switch', 'node': switch, 'guid': switch, 'port': 0,
             'lid': i + 4, 'sm_lid': 1, 'state': 4, 'phys': 5},
            {'kind': 'link', 'node': switch, 'port': 1, 'state': 4, 'phys': 5, 'peer': host,
             'peer_port': 1},
            {'kind': 'link', 'node': switch, 'port': 2, 'state': 4, 'phys': 5,
             'peer': SWITCHES[(i + 1) % 3], 'peer_port': 3},
            {'kind': 'link', 'node': switch, 'port': 3, 'state': 4, 'phys': 5,
             'peer': SWITCHES[(i + 2) % 3], 'peer_port': 2},
            {'kind': 'lft', 'node': switch, 'top': 6, 'hex': bytes(tables[i]).hex()},
        ]
    lines.append({'kind': 'end', 'nodes': 6, 'ports': 6, 'smps': 1, 'unanswered': 0})
    return Scan('\n'.join(json.dumps(line) for line in lines))


# to LID:        0    1  2  3  4  5  6
SHORT = [[255, 1, 2, 3, 0, 2, 3], [255, 3, 1, 2, 3, 0, 2], [255, 2, 3, 1, 2, 3, 0]]
AROUND = [[255, 1, 2, 2, 0, 2, 2], [255, 2, 1, 2, 2, 0, 2], [255, 2, 2, 1, 2, 2, 0]]


def test_good_tables_pass():
    scan = ring(SHORT)
    assert check_tables(scan) == []
    assert scan.not_active() == [] and scan.bad_lids() == []
    assert scan.routes()['0xa', '0x21'] == 2
    assert scan.lid_of_node(2) == 2


@pytest.mark.parametrize('change, words', [
    ((0, 2, 255), 'no way from 0xa to 0x21'),
    ((0, 2, 1), 'sends what is for 0x21 to 0x1'),
    ((1, 3, 3), 'loop towards 0x31'),
    ((2, 3, 0), 'no way from 0xc to 0x31'),
    ((0, 5, 0), 'no way from 0xa to 0xb'),
])
def test_faults_in_tables_are_found(change, words):
    tables = [list(t) for t in SHORT]
    switch, lid, port = change
    tables[switch][lid] = port
    if change == (1, 3, 3):
        tables[0][3] = 2
    assert any(words in p for p in check_tables(ring(tables))), check_tables(ring(tables))


def test_a_credit_loop_is_found():
    assert check_tables(ring(AROUND)) == ['the tables have a credit loop']


def test_bad_ports_are_found():
    scan = ring(SHORT)
    scan.links['0xa', 2]['state'] = 2
    scan.ports['0x1', 1]['state'] = 3
    assert len(scan.not_active()) == 2
    scan.ports['0xa', 0]['lid'] = 2
    scan.ports['0xb', 0]['lid'] = 0
    assert len(scan.bad_lids()) == 2


def log_of(path, lids, sm_lid, begin=1000):
    with open(path, 'w', encoding='ascii') as f:
        for i, lid in enumerate(lids):
            f.write(f'{begin + i * 1000000} tx 01 02 0015 00000001 {i:016x} {lid} 0000 lid={lid} '
                    f'smlid={sm_lid}\n')
            f.write(f'{begin + i * 1000000 + 500000} rx 01 81 0015 00000001 {i:016x} {lid} 0000\n')
    return str(path)


def moved(sm_lid, **other):
    scan = ring(SHORT)
    for port in scan.ports.values():
        port['sm_lid'] = sm_lid
    for (node, port), lid in other.get('lids', {}).items():
        scan.ports[node, port]['lid'] = lid
    return scan


def test_a_whole_takeover_is_timed(tmp_path):
    log = log_of(tmp_path / 'a', range(1, 7), 2)
    t = Takeover(ring(SHORT), moved(2), 1, {2, 3}, [log], 1000)
    assert t.problems == [] and t.ms == 5.5 and len(t.taken) == 6


def test_faults_of_a_takeover_are_found(tmp_path):
    whole = log_of(tmp_path / 'whole', range(1, 7), 2)
    part = log_of(tmp_path / 'part', range(1, 6), 2)
    writes = tmp_path / 'writes'
    writes.write_text('2000 tx 01 02 0019 00000000 0000000000000001 4 0000\n')
    before = ring(SHORT)
    assert 'no answered Set' in Takeover(before, moved(2), 1, {2}, [part], 1000).problems[0]
    assert Takeover(before, moved(2), 1, {2}, [part], 1000).ms is None
    assert 'living owner' in Takeover(before, ring(SHORT), 1, {2}, [whole], 1000).problems[0]
    t = Takeover(before, moved(2), 1, {2}, [whole, str(writes)], 1000)
    assert t.lft_writes == 1 and 'Set(LFT)' in t.problems[0]
    t = Takeover(before, moved(2, lids={('0xa', 0): 9}), 1, {2}, [whole], 1000)
    assert t.lids_changed == 1 and 'LIDs' in t.problems[0]
    assert 'no port named' in Takeover(before, moved(2), 7, {2}, [whole], 1000).problems[0]


def test_a_fabric_of_opensm_passes(lab, tree):
    if shutil.which('opensm', path='/usr/sbin:/sbin:/usr/bin') is None:
        pytest.skip('needs opensm')
    lab.ok('up', tree, '--shards', '1')
    lab.ok('run', '--at', 'host 0.0.0', '--', 'opensm', '-o', '-f', './log', '--routing_engine',
           'updn')
    scan = Scan(lab.ok('run', '--', 'heddle-portscan', '--lft'))
    assert scan.not_active() == [] and scan.bad_lids() == []
    assert len(scan.tables) == 14 and len(scan.end_ports) == 18
    assert check_tables(scan, switches=False) == []
