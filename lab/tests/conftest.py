# SPDX-License-Identifier: BSD-2-Clause
"""A lab over real ibsim with daemons that only listen: the lab itself is what is tested."""
import os
import shutil
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
LAB = os.path.dirname(HERE)
sys.path.insert(0, LAB)

PODS, LEAVES, HOSTS, SPINES, CORES = 3, 2, 3, 2, 2


def write_tree(path):
    """Three pods of two leaves with three hosts each, two spines a pod, two cores over all."""
    ports = {}
    names = {}

    def cable(a, a_port, b, b_port):
        ports.setdefault(a, {})[a_port] = (b, b_port)
        ports.setdefault(b, {})[b_port] = (a, a_port)

    for pod in range(PODS):
        for leaf in range(LEAVES):
            leaf_id = f'S-leaf{pod}{leaf}'
            for h in range(HOSTS):
                host = f'H-{pod}{leaf}{h}'
                names[host] = f'host {pod}.{leaf}.{h}'
                cable(leaf_id, h + 1, host, 1)
            for s in range(SPINES):
                cable(leaf_id, 5 + s, f'S-spine{pod}{s}', leaf + 1)
        for s in range(SPINES):
            for c in range(CORES):
                cable(f'S-spine{pod}{s}', 5 + c, f'S-core{c}', pod * SPINES + s + 1)
    with open(path, 'w', encoding='ascii') as f:
        for i, (node, cables) in enumerate(ports.items()):
            switch = node.startswith('S-')
            f.write(f'{"switch" if switch else "ca"}guid={0x1000 + i * 16:#x}\n')
            f.write(f'{"Switch" if switch else "Ca"} {8 if switch else 1} "{node}" '
                    f'# "{names.get(node, node)}"\n')
            for port, (peer, peer_port) in sorted(cables.items()):
                f.write(f'[{port}] "{peer}"[{peer_port}]\n')
            f.write('\n')
    return str(path)


@pytest.fixture
def tree(tmp_path):
    return write_tree(tmp_path / 'tree.net')


@pytest.fixture
def fake_build(tmp_path):
    """A build tree with fake daemons, and the real preload and port scanner."""
    real = os.environ.get('HEDDLE_BUILD', '')
    preload = os.path.join(real, 'lib', 'libheddle-umad.so')
    if shutil.which('ibsim') is None or not os.path.exists(preload):
        pytest.skip('needs ibsim and HEDDLE_BUILD with lib/libheddle-umad.so')
    build = tmp_path / 'build'
    (build / 'bin').mkdir(parents=True)
    (build / 'lib').mkdir()
    (build / 'lib' / 'libheddle-umad.so').symlink_to(preload)
    for name in ('heddle-coordinator', 'heddle-shard'):
        (build / 'bin' / name).symlink_to(os.path.join(HERE, 'fakes', 'daemon'))
    (build / 'bin' / 'heddle').symlink_to(os.path.join(HERE, 'fakes', 'heddle'))
    (build / 'bin' / 'heddle-portscan').symlink_to(os.path.join(real, 'bin', 'heddle-portscan'))
    return str(build)


class Runner:
    def __init__(self, build, directory):
        self.build = build
        self.dir = directory

    def environment(self, extra):
        env = {k: v for k, v in os.environ.items() if k not in ('HEDDLE_LAB_DIR', 'HEDDLE_LAB')}
        env['HEDDLE_BUILD'] = self.build
        env.update(extra)
        return env

    def argv(self, verb, *arguments):
        return [os.path.join(LAB, 'heddle-lab'), verb, '--dir', self.dir, *arguments]

    def __call__(self, verb, *arguments, timeout=60, **extra):
        return subprocess.run(self.argv(verb, *arguments), env=self.environment(extra),
                              capture_output=True, text=True, timeout=timeout, check=False,
                              stdin=subprocess.DEVNULL)

    def ok(self, verb, *arguments, **extra):
        done = self(verb, *arguments, **extra)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def state(self):
        from heddle_lab.state import Lab
        return Lab(self.dir).load()

    def left(self):
        from heddle_lab import procs
        return procs.stragglers(self.state().data['id'])


@pytest.fixture
def lab(fake_build, tmp_path):
    runner = Runner(fake_build, str(tmp_path / 'lab'))
    yield runner
    if os.path.exists(os.path.join(runner.dir, 'state.json')):
        runner('down')
        assert runner.left() == []
