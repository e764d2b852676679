# SPDX-License-Identifier: BSD-2-Clause
"""heddle-sim beside ibsim, under the same manager and the same tools."""
import os

import pytest

import differences
import fabrics
import opensm
import raw
import simulators
import tools
from simulators import HEDDLE_SIM, IBSIM

BUILD = os.environ.get('HEDDLE_BUILD', os.path.join(fabrics.ROOT, 'build', 'release'))
PRELOAD = os.path.join(BUILD, 'lib', 'libheddle-umad.so')
UMAD2SIM = '/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so'
SEED = int(os.environ.get('HEDDLE_SEED', '7'))
STOCK = ('ibsim', 'opensm', 'ibnetdiscover', 'saquery', 'osmtest', 'perfquery', 'smpquery')


def pytest_configure(config):
    config.addinivalue_line('markers', 'quick: small fabrics, part of every run')
    config.addinivalue_line('markers', 'full: all fabrics and engines')


@pytest.fixture(scope='session', autouse=True)
def installed():
    for name in ('heddle', 'heddle-mad-client', 'heddle-sim'):
        if not os.path.exists(os.path.join(BUILD, 'bin', name)):
            pytest.skip(f'needs {BUILD}/bin/{name}')
    for name in STOCK:
        try:
            simulators.find_program(name)
        except simulators.Failed as e:
            pytest.skip(str(e))


@pytest.fixture(scope='session')
def judgement():
    return differences.Judgement(differences.load())


@pytest.fixture
def make_fabric(tmp_path):
    """By name of a real fabric, by generator, or 'torus:X,Y,Z'."""
    def make(spec):
        directory = tmp_path / 'fabric'
        directory.mkdir(exist_ok=True)
        if spec.startswith('torus:'):
            size = tuple(int(n) for n in spec.removeprefix('torus:').split(','))
            spec, name = fabrics.torus_net(size, directory / 'torus.net'), spec
            return fabrics.make(BUILD, str(spec), directory, name)
        if ':' not in spec:
            path = fabrics.real_fabric(spec)
            if path is None:
                pytest.skip(f'{spec} is not in {fabrics.real_fabrics_dir()} ($HEDDLE_FABRICS)')
            spec = path
        return fabrics.make(BUILD, spec, directory)
    return make


@pytest.fixture
def start(tmp_path):
    """start(kind, fabric[, preload]): a simulator that is stopped at the end of the test."""
    running = []

    def run(kind, fabric, preload=PRELOAD):
        sim = simulators.Simulator(kind, fabric, tmp_path / f'{len(running)}-{kind}', BUILD,
                                   preload)
        running.append(sim)
        return sim
    yield run
    for sim in running:
        sim.close()


def record(sim, fabric, sample=None, ports=None):
    """Everything that is compared, in order, after OpenSM has configured the fabric."""
    manager = opensm.OpenSM(sim, fabric.manager)
    manager.wait_up()
    recorder = tools.Recorder(sim, fabric, SEED)
    recorder.read_lids()
    recorder.walk()
    recorder.query_attributes(sample, ports)
    recorder.query_tables(sample)
    recorder.query_counters(sample)
    recorder.query_records()
    recorder.answers += raw.collect(sim, fabric, recorder.routes, recorder.lids, BUILD)
    recorder.run_osmtest()
    manager.stop()
    return recorder.answers


def record_both(start, fabric, kinds=(IBSIM, HEDDLE_SIM), **how):
    """One after the other: they share two cores with their tools."""
    recordings = []
    for kind in kinds:
        sim = start(kind, fabric)
        recordings.append(record(sim, fabric, **how))
        sim.close()
    return recordings
