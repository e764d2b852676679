# SPDX-License-Identifier: BSD-2-Clause
"""The parts that start nothing: reading, placing, writing files, MAD logs."""
import os
import subprocess

import pytest
from heddle_lab import conf, madlog, procs
from heddle_lab.commands import signal_number
from heddle_lab.errors import LabError, Refused
from heddle_lab.net import read_net
from heddle_lab.place import leaf_of, place, pods
from heddle_lab.sims import SIMS
from heddle_lab.sims.heddle_sim import line_of


def test_the_tree_is_read(tree):
    net = read_net(tree)
    assert len(net.switches) == 14 and len(net.hosts) == 18
    host = net.find('host 1.0.2')
    assert host.id == f'H-{host.guid:016x}'
    assert host.cables == {1: (net.find('S-leaf10').id, 3)}
    with pytest.raises(LabError, match='no node "nobody"'):
        net.find('nobody')


def test_one_sided_cables_are_completed_and_foreign_lines_skipped(tmp_path):
    path = tmp_path / 'net'
    path.write_text('# text\nvendid=1\nswitchguid=0x10(10)\nSwitch 4 "S-1" # "one" lid 0\n'
                    '[1] "H-1"[1](11) # "host" lid 0 4xEDR\n[2] "S-missing"[1]\n\n'
                    'Ca 2 "H-1" # "host"\n\n')
    net = read_net(str(path))
    assert net.nodes['H-1'].cables == {1: ('S-1', 1)}
    assert net.nodes['S-1'].guid == 0x10
    assert [p for p, _, _ in net.links_of(net.nodes['S-1'])] == [1]
    path.write_text('nothing\n')
    with pytest.raises(LabError, match='has no nodes'):
        read_net(str(path))


def test_shards_are_spread_over_pods_and_leaves(tree):
    net = read_net(tree)
    assert len(pods(net)) == 3
    where = place(net, ['shard-1', 'shard-2', 'shard-3'], {})
    assert len({leaf_of(net, net.nodes[h]).description[6] for h in where.values()}) == 3
    six = place(net, [f'shard-{i}' for i in range(6)], {})
    assert len({leaf_of(net, net.nodes[h]).id for h in six.values()}) == 6
    eight = place(net, [f'shard-{i}' for i in range(8)], {})
    assert len(set(eight.values())) == 8


def test_wishes_are_followed_or_refused(tree):
    net = read_net(tree)
    assert place(net, ['shard-1', 'shard-2'], {'shard-2': 'host 2.1.0'})['shard-2'] == \
        net.find('host 2.1.0').id
    with pytest.raises(Refused, match='no such daemon'):
        place(net, ['shard-1'], {'shard-9': 'host 0.0.0'})
    with pytest.raises(Refused, match='another daemon'):
        place(net, ['shard-1', 'shard-2'], {'shard-1': 'host 0.0.0', 'shard-2': 'host 0.0.0'})
    with pytest.raises(Refused, match='need as many hosts'):
        place(net, [f'shard-{i}' for i in range(19)], {})


def test_a_single_switch_is_a_pod(tmp_path):
    path = tmp_path / 'net'
    path.write_text('Switch 4 "S"\n[1] "A"[1]\n[2] "B"[1]\n\nCa 1 "A"\n\nCa 1 "B"\n\n')
    assert place(read_net(str(path)), ['shard-1', 'shard-2'], {}) == {'shard-1': 'A',
                                                                      'shard-2': 'B'}


def test_settings_are_libconfig():
    assert conf.text_of('a "b" \\') == '"a \\"b\\" \\\\"'
    assert conf.text_of([{'name': 'x', 'n': 5, 'on': True}]) == \
        '( { name = "x"; n = 5; on = true; } )'
    assert conf.text_of(2**40) == '1099511627776L'
    assert conf.text_of(conf.Raw('[1]')) == '[1]'


def test_domains_come_from_a_file(tmp_path):
    path = tmp_path / 'domains'
    path.write_text('domains = ( { name="a"; switches=["0x1"]; } );\n')
    assert conf.domains_setting(str(path)) == '( { name="a"; switches=["0x1"]; } )'
    path.write_text('nonsense\n')
    with pytest.raises(LabError, match='expected domains'):
        conf.domains_setting(str(path))
    with pytest.raises(LabError, match='No such file'):
        conf.domains_setting(str(tmp_path / 'missing'))
    assert conf.domains_setting('auto') == 'auto'


def test_signals_have_names_and_numbers():
    assert signal_number('KILL') == signal_number('9') == signal_number('sigkill') == 9
    for wrong in ('NOSUCH', '999', ''):
        with pytest.raises(Refused):
            signal_number(wrong)


def test_simulators_say_what_they_cannot_take():
    ibsim, heddle_sim = SIMS['ibsim'], SIMS['heddle-sim']
    with pytest.raises(Refused, match='10 clients'):
        ibsim.check_shards(9)
    with pytest.raises(Refused, match='would not survive'):
        ibsim.check_signal('shard-1', 19)
    ibsim.check_signal('coordinator-1', 19)
    ibsim.check_shards(8)
    heddle_sim.check_shards(64)
    heddle_sim.check_signal('shard-1', 19)
    with pytest.raises(Refused, match='at most'):
        heddle_sim.check_shards(heddle_sim.max_clients)


def test_words_become_a_command():
    assert line_of(['show "a b"[1]']) == 'show "a b"[1]'
    assert line_of(['link', 'H-1[2]', 'down']) == 'link H-1[2] down'
    assert line_of(['show', 'a b[12]']) == 'show "a b"[12]'
    assert line_of(['describe', 'x', 'a "b" \\ [c]']) == 'describe x "a \\"b\\" \\\\ [c]"'
    assert line_of(['show', '']) == 'show ""'


def test_a_recycled_pid_is_not_hit():
    child = subprocess.Popen(['sleep', '60'])
    proc = procs.identity(child.pid)
    assert procs.state_of(proc) == 'running'
    other = {'pid': child.pid, 'start': proc['start'] + 1}
    assert procs.state_of(other) == 'dead' and procs.send(other, 9) is None
    assert child.poll() is None
    assert procs.send(proc, 9) > 0
    assert procs.wait_end(proc, 5)
    child.wait()
    assert procs.send(proc, 9) is None


def test_mad_logs_are_read(tmp_path):
    log = tmp_path / 'x.mad'
    log.write_text(
        '100 tx 81 02 0015 00000001 0000000000000007 0,1,5 0000 lid=9 smlid=4\n'
        '# 3 lines lost\n'
        '150 tx 01 02 0019 00000000 0000000000000008 9 0000\n'
        '160 to 01 02 0015 00000000 0000000000000009 9 006e lid=9 smlid=4\n'
        '200 rx 81 81 0015 00000001 0000000000000007 0,1,5 8000\n'
        '300 rx 81 81 00')
    mads = list(madlog.read(log))
    assert [m.ns for m in mads] == [100, 150, 160, 200]
    assert [m.ns for m in madlog.sets_sent(mads, madlog.LFT)] == [150]
    (request, answer), = madlog.port_sets_answered(mads)
    assert request.extra == {'lid': '9', 'smlid': '4'} and answer.ns == 200
    assert list(madlog.read(tmp_path / 'missing')) == []
    assert [m.ns for m in madlog.read(log, since_ns=160)] == [160, 200]


def test_an_unknown_option_is_one_line():
    lab = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'heddle-lab')
    for arguments in (['up'], ['up', 'x', '--nonsense'], ['nonsense'], [], ['kill'],
                      ['link', 'sideways', 'a', '1']):
        done = subprocess.run([lab, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith('heddle lab')
