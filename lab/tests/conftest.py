# SPDX-License-Identifier: BSD-2-Clause
"""A lab over a real simulator with daemons that only listen: the lab itself is what is tested."""
import os
import shutil
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
LAB = os.path.dirname(HERE)
sys.path.insert(0, LAB)

from heddle_lab.sims import SIMS  # noqa: E402

SIM = os.environ.get('HEDDLE_TEST_SIM', 'heddle-sim')
PODS, LEAVES, HOSTS, SPINES, CORES = 3, 2, 3, 2, 2


def write_tree(path):
    """Three pods of two leaves with three hosts each, two spines a pod, two cores over all.

    The first letter of a name is that of its id; switches have a name such as S-leaf00."""
    ports = {}

    def cable(a, a_port, b, b_port):
        ports.setdefault(a, {})[a_port] = (b, b_port)
        ports.setdefault(b, {})[b_port] = (a, a_port)

    for pod in range(PODS):
        for leaf in range(LEAVES):
            leaf_id = f'S-leaf{pod}{leaf}'
            for h in range(HOSTS):
                host = f'host {pod}.{leaf}.{h}'
                cable(leaf_id, h + 1, host, 1)
            for s in range(SPINES):
                cable(leaf_id, 5 + s, f'S-spine{pod}{s}', leaf + 1)
        for s in range(SPINES):
            for c in range(CORES):
                cable(f'S-spine{pod}{s}', 5 + c, f'S-core{c}', pod * SPINES + s + 1)
    ids = {name: f'{name[0].upper()}-{0x1000 + i * 16:016x}' for i, name in enumerate(ports)}
    with open(path, 'w', encoding='ascii') as f:
        for node, cables in ports.items():
            switch = node.startswith('S-')
            f.write(f'{"switch" if switch else "ca"}guid=0x{ids[node][2:]}\n')
            f.write(f'{"Switch" if switch else "Ca"} {8 if switch else 1} "{ids[node]}" '
                    f'# "{node}"\n')
            for port, (peer, peer_port) in sorted(cables.items()):
                f.write(f'[{port}] "{ids[peer]}"[{peer_port}]\n')
            f.write('\n')
    return str(path)


@pytest.fixture
def tree(tmp_path):
    return write_tree(tmp_path / 'tree.net')


def fake_build(tmp_path, simulator):
    """A build tree with fake daemons, and the real preload and port scanner."""
    real = os.environ.get('HEDDLE_BUILD', '')
    preload = os.path.join(real, 'lib', 'libheddle-umad.so')
    if not os.path.exists(preload):
        pytest.skip('needs HEDDLE_BUILD with lib/libheddle-umad.so')
    build = tmp_path / 'build'
    (build / 'bin').mkdir(parents=True)
    (build / 'lib').mkdir()
    (build / 'lib' / 'libheddle-umad.so').symlink_to(preload)
    for name in ('heddle-coordinator', 'heddle-shard'):
        (build / 'bin' / name).symlink_to(os.path.join(HERE, 'fakes', 'daemon'))
    (build / 'bin' / 'heddle').symlink_to(os.path.join(HERE, 'fakes', 'heddle'))
    (build / 'bin' / 'heddle-sim').symlink_to(simulator)
    (build / 'bin' / 'heddle-portscan').symlink_to(os.path.join(real, 'bin', 'heddle-portscan'))
    return str(build)


def real_simulator(sim):
    path = os.path.join(os.environ.get('HEDDLE_BUILD', ''), 'bin', 'heddle-sim')
    if shutil.which('ibsim') is None if sim == 'ibsim' else not os.path.exists(path):
        pytest.skip(f'needs {sim}')
    return path


class Runner:
    def __init__(self, build, directory, sim):
        self.build = build
        self.dir = directory
        self.sim = sim

    def beside(self):
        """For another lab, in another directory."""
        return Runner(self.build, self.dir + '-2', self.sim)

    def environment(self, extra):
        env = {k: v for k, v in os.environ.items() if k not in ('HEDDLE_LAB_DIR', 'HEDDLE_LAB')}
        env['HEDDLE_BUILD'] = self.build
        env.update(extra)
        return env

    def argv(self, verb, *arguments):
        sim = ['--sim', self.sim] if verb == 'up' else []
        return [os.path.join(LAB, 'heddle-lab'), verb, '--dir', self.dir, *sim, *arguments]

    def __call__(self, verb, *arguments, timeout=60, **extra):
        return subprocess.run(self.argv(verb, *arguments), env=self.environment(extra),
                              capture_output=True, text=True, timeout=timeout, check=False,
                              stdin=subprocess.DEVNULL)

    def ok(self, verb, *arguments, **extra):
        done = self(verb, *arguments, **extra)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def id_of(self, name):
        from heddle_lab.net import read_net
        return read_net(os.path.join(self.dir, 'fabric.net')).find(name).id

    def state(self):
        from heddle_lab.state import Lab
        return Lab(self.dir).load()

    def left(self):
        from heddle_lab import procs
        return procs.stragglers(self.state().data['id'])


def run_lab(tmp_path, sim, simulator):
    runner = Runner(fake_build(tmp_path, simulator), str(tmp_path / 'lab'), sim)
    yield runner
    if os.path.exists(os.path.join(runner.dir, 'state.json')):
        runner('down')
        assert runner.left() == []


@pytest.fixture
def lab(tmp_path):
    """On the simulator that $HEDDLE_TEST_SIM names."""
    yield from run_lab(tmp_path, SIM, real_simulator(SIM))


@pytest.fixture(params=list(SIMS))
def each_lab(tmp_path, request):
    """On each simulator, one after the other."""
    yield from run_lab(tmp_path, request.param, real_simulator(request.param))


@pytest.fixture
def fake_lab(tmp_path):
    """On a simulator that only has a console."""
    yield from run_lab(tmp_path, 'heddle-sim', os.path.join(HERE, 'fakes', 'heddle-sim'))
