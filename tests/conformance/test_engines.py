# SPDX-License-Identifier: BSD-2-Clause
"""OpenSM brings every fabric up on heddle-sim with each routing engine that does so on ibsim: the
subnet is up by that engine, every cabled port is ACTIVE, packets find their way, and the tables are
those of ibsim."""
import random
import re
import time

import pytest

import engines
import fabrics
import opensm
import tools
from conftest import SEED
from heddle_lab.place import usable_hosts
from simulators import HEDDLE_SIM, IBSIM, find_program

SIXTEEN_HOSTS, TORUS = 'pgft:2:4,4:1,2:1,1', 'torus:3,3,3'
FULL = (*fabrics.REAL, 'pgft:3:8,8,8:1,8,4:1,1,1', 'torus:5,5,3')
TRACES, PINGS, PINGS_EACH, PING_RATE = 12, 12, 20, 200
PING_TIMEOUT_S = 20


def bring_up(sim, fabric, engine, tables):
    """What a run of OpenSM tells and leaves behind."""
    manager = opensm.OpenSM(sim, fabric.manager,
                            engines.options(engine, fabric, sim.directory, tables))
    manager.wait_up()
    result = {
        'engines': manager.engines(),
        # the codes, not the texts: those hold times and addresses
        'errors': sorted(set(re.findall(r'ERR (\w+)', manager.text()))),
        'not active': engines.not_active(sim, fabric.client),
        'tables': sim.run(fabric.client, find_program('dump_lfts')).stdout,
        'groups': sim.run(fabric.client, find_program('dump_mfts')).stdout,
    }
    return result


def traces_failed(sim, fabric):
    """ibtracert between random pairs of hosts: those that find no way."""
    recorder = tools.Recorder(sim, fabric, SEED)
    recorder.read_lids()
    hosts = [n.id for n in fabric.net.hosts if n.id in recorder.routes]
    rand = random.Random(SEED)
    pairs = [[str(recorder.lid(i)) for i in rand.sample(hosts, 2)] for _ in range(TRACES)]
    recorder.ask(tools.Query('ibtracert', ('ibtracert', *pair)) for pair in pairs)
    return [a.what for a in recorder.answers if 'To ca' not in a.lines[-1]]


def pings_lost(sim, fabric):
    """heddle-sim's own packets between random pairs: what its console tells of those with losses."""
    rand = random.Random(SEED)
    routes = fabric.routes(fabric.client)
    hosts = [n.id for n in usable_hosts(fabric.net) if n.id in routes]
    streams = []
    for _ in range(PINGS):
        one, two = rand.sample(hosts, 2)
        answer = sim.ask(f'ping start {one}[1] {two}[1] rate={PING_RATE} count={PINGS_EACH}')
        streams.append(re.search(r'\d+', answer)[0])
    deadline = time.monotonic() + PING_TIMEOUT_S
    waiting = streams
    while waiting and time.monotonic() < deadline:
        time.sleep(0.1)
        texts = {s: sim.ask(f'ping status {s}') for s in waiting}
        waiting = [s for s in waiting if f'sent={PINGS_EACH} answered={PINGS_EACH} lost=0 ' not in texts[s]]
    return [texts[s] for s in waiting]


def compare_engine(spec, engine, make_fabric, start, tmp_path):
    fabric = make_fabric(spec)
    tables = str(tmp_path / 'tables')
    if engine == 'torus-2QoS' and not engines.is_torus(fabric):
        pytest.skip('the fabric is no torus')
    if engine == 'file':
        sim = start(IBSIM, fabric)
        with open(tables, 'w', encoding='ascii') as f:
            f.write(bring_up(sim, fabric, 'minhop', None)['tables'])
        sim.close()
    sim = start(IBSIM, fabric)
    on_ibsim = bring_up(sim, fabric, engine, tables)
    sim.close()
    if on_ibsim['engines'] != [engine]:
        pytest.skip(f'{engine} fails on ibsim, too: {on_ibsim["engines"]}, '
                    f'{on_ibsim["errors"] or "no error told"}')
    sim = start(HEDDLE_SIM, fabric)
    here = bring_up(sim, fabric, engine, tables)
    assert here['not active'] == []
    assert here['engines'] == [engine]
    assert here['errors'] == on_ibsim['errors']
    for what in ('tables', 'groups'):
        assert here[what] == on_ibsim[what]
    assert traces_failed(sim, fabric) == []
    assert pings_lost(sim, fabric) == []


@pytest.mark.quick
@pytest.mark.parametrize('engine', [e for e in engines.ENGINES if e != 'torus-2QoS'])
def test_sixteen_hosts(engine, make_fabric, start, tmp_path):
    compare_engine(SIXTEEN_HOSTS, engine, make_fabric, start, tmp_path)


@pytest.mark.quick
@pytest.mark.parametrize('engine', ['torus-2QoS', 'lash', 'dor'])
def test_torus(engine, make_fabric, start, tmp_path):
    compare_engine(TORUS, engine, make_fabric, start, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize('engine', engines.ENGINES)
@pytest.mark.parametrize('spec', FULL)
def test_engine(spec, engine, make_fabric, start, tmp_path):
    compare_engine(spec, engine, make_fabric, start, tmp_path)
