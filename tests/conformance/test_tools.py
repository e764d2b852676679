# SPDX-License-Identifier: BSD-2-Clause
"""The stock tools print the same on ibsim and on heddle-sim after OpenSM configured the same fabric
on each, but for the differences that differences.txt lists with their reasons."""
import pytest

import differences
import fabrics
import opensm
import tools
from conftest import SEED, UMAD2SIM, record_both
from simulators import HEDDLE_SIM, IBSIM

SIXTEEN_HOSTS = 'pgft:2:4,4:1,2:1,1'
LARGE = ('rail-ndr-542', 'rail-dgx-140', 'director-edr-1470', 'pgft:2:16,24:1,8:1,1',
         'pgft:3:16,16,8:1,16,4:1,1,1')
SAMPLE_NODES, SAMPLE_PORTS = 24, 6


def expect_same(judgement, one, two):
    new = judgement.add(one, two)
    print(f'{len(one)} answers, {sum(len(a.lines) for a in one)} lines compared')
    assert new == [], differences.show(new)


@pytest.mark.quick
@pytest.mark.full
def test_sixteen_hosts(make_fabric, start, judgement):
    expect_same(judgement, *record_both(start, make_fabric(SIXTEEN_HOSTS)))


@pytest.mark.full
def test_all_ports_of_a_real_fabric(make_fabric, start, judgement):
    expect_same(judgement, *record_both(start, make_fabric('small-qdr-144')))


@pytest.mark.full
@pytest.mark.parametrize('name', LARGE)
def test_large_fabric(name, make_fabric, start, judgement):
    expect_same(judgement, *record_both(start, make_fabric(name), sample=SAMPLE_NODES,
                                        ports=SAMPLE_PORTS))


@pytest.mark.full
def test_every_listed_difference_is_seen(judgement):
    """The last of the full run: an entry for what no longer differs must go."""
    if not all(map(fabrics.real_fabric, fabrics.REAL)):
        pytest.skip(f'not all real fabrics are in {fabrics.real_fabrics_dir()}')
    if judgement.answers == 0:
        pytest.skip('nothing was compared in this run')
    assert [f'{tool}: {e.ibsim} / {e.heddle}' for e, tool in judgement.unused()] == []


@pytest.mark.quick
@pytest.mark.parametrize('fabric', [SIXTEEN_HOSTS])
def test_combined_routes(fabric, make_fabric, start):
    """ibsim answers no combined route; heddle-sim must answer as by directed route."""
    fabric = make_fabric(fabric)
    sim = start(IBSIM, fabric)
    opensm.OpenSM(sim, fabric.manager).wait_up()
    recorder = tools.Recorder(sim, fabric, SEED)
    recorder.read_lids()
    recorder.query_combined(sample=1)
    assert all('exit status' in a.lines[-1] for a in recorder.answers)
    sim.close()
    sim = start(HEDDLE_SIM, fabric)
    opensm.OpenSM(sim, fabric.manager).wait_up()
    recorder = tools.Recorder(sim, fabric, SEED)
    recorder.read_lids()
    recorder.query_combined(sample=None, ports=3)
    assert len(recorder.answers) > 200
    combined, recorder.answers = recorder.answers, []
    recorder.query_as_directed(combined)
    for one, two in zip(combined, recorder.answers, strict=True):
        assert without_address(one.lines) == without_address(two.lines), one.what
    # it asks the peers of a switch's ports by combined routes
    for node in fabric.net.switches:
        done = sim.run(fabric.client, 'ibportstate', str(recorder.lid(node.id)), '1')
        assert done.returncode == 0 and 'Peer PortInfo' in done.stdout, done.stderr


@pytest.mark.quick
def test_performance_samples(make_fabric, start):
    """ibsim never answers PortSamplesControl."""
    fabric = make_fabric(SIXTEEN_HOSTS)
    for kind, answers in ((IBSIM, False), (HEDDLE_SIM, True)):
        sim = start(kind, fabric)
        opensm.OpenSM(sim, fabric.manager).wait_up()
        done = sim.run(fabric.client, 'perfquery', '-t', '100', '-c', '2', '1')
        assert (done.returncode == 0) == answers, done.stderr
        assert ('PortSelect:......................1\n' in done.stdout) == answers
        sim.close()


def without_address(lines):
    return [line for line in lines if not line.startswith('#')]


@pytest.mark.quick
def test_stock_umad2sim(make_fabric, start, judgement):
    """Over ibsim's own preload, which knows no RMPP."""
    fabric = make_fabric(SIXTEEN_HOSTS)
    recordings = []
    for kind in (IBSIM, HEDDLE_SIM):
        sim = start(kind, fabric, UMAD2SIM)
        opensm.OpenSM(sim, fabric.manager).wait_up()
        recorder = tools.Recorder(sim, fabric, SEED)
        recorder.lids = {}
        recorder.ask(tools.Query(tool, argv) for tool, argv in (
            ('ibnetdiscover', ('ibnetdiscover',)), ('iblinkinfo', ('iblinkinfo', '-l')),
            ('smpquery -D portinfo', ('smpquery', '-D', 'portinfo', '0,1', '3')),
            ('smpquery nodedesc', ('smpquery', 'nodedesc', '1')),
            ('smpquery switchinfo', ('smpquery', 'switchinfo', '2')), ('sminfo', ('sminfo',)),
            ('dump_lfts', ('dump_lfts',)), ('saquery -c', ('saquery', '-c')),
            ('saquery --src-to-dst', ('saquery', '--src-to-dst', '1:9')),
            ('ibtracert', ('ibtracert', '1', '9'))))
        recordings.append(recorder.answers)
        sim.close()
    expect_same(judgement, *recordings)
