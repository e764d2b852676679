# SPDX-License-Identifier: BSD-2-Clause
"""Wrong input to the daemons and the command: one clear line, a status, no hang."""
import os
import shutil
import time

import pytest
from conftest import BUILD, HEDDLE, call

LIMIT_S = 20


@pytest.fixture(scope='module')
def cluster(make_cluster):
    """Gives configuration files and keys; its daemons are down."""
    c = make_cluster('pgft:2:4,4:1,2:1,1', 1)
    c.lab('down')
    return c


def refused(*argv, **env):
    """Status, and the one line."""
    begin = time.monotonic()
    done = call(*argv, timeout=LIMIT_S, **env)
    assert time.monotonic() - begin < LIMIT_S
    lines = [s for s in done.stderr.splitlines()  # the simulated kernel has a line of its own
             if s.strip() and not s.startswith('heddle-umad:')]
    assert done.returncode != 0, (argv, done.stdout, done.stderr)
    assert done.returncode > 0, f'died of signal {-done.returncode}'
    assert len(lines) == 1, (argv, done.stderr)
    return lines[0]


def daemon(name):
    return os.path.join(BUILD, 'bin', name)


def conf(cluster, kind, tmp_path, *changes):
    """A daemon's file with lines replaced: NAME, text of the value (None = left out)."""
    name = {'shard': 'shard-1', 'coordinator': 'coordinator-1'}[kind]
    with open(os.path.join(cluster.dir, 'conf', name + '.conf'), encoding='utf-8') as f:
        lines = f.read().splitlines()
    for setting, value in changes:
        lines = [s for s in lines if not s.startswith(setting + ' = ')]
        if value is not None:
            lines.append(f'{setting} = {value};')
    path = tmp_path / (kind + '.conf')
    path.write_text('\n'.join(lines) + '\n')
    return str(path)


def environment(cluster):
    return {'LD_PRELOAD': os.path.join(BUILD, 'lib', 'libheddle-umad.so'),
            'IBSIM_SOCKNAME': 'heddle-nobody-there',
            'ASAN_OPTIONS': 'verify_asan_link_order=0:detect_leaks=0'}


@pytest.mark.parametrize('kind', ['shard', 'coordinator'])
def test_files_and_options(cluster, tmp_path, kind):
    program = daemon('heddle-' + kind)
    assert '/no/such.conf' in refused(program, '-c', '/no/such.conf')
    assert 'nonsense' in refused(program, '--nonsense')
    broken = tmp_path / 'broken.conf'
    broken.write_text('cluster = "x"\nname = ;\n')
    assert 'broken.conf' in refused(program, '-c', str(broken))


@pytest.mark.parametrize('kind', ['shard', 'coordinator'])
def test_keys(cluster, tmp_path, kind):
    program = daemon('heddle-' + kind)
    bad = tmp_path / 'bad.secret'
    bad.write_text('not a key\n')
    bad.chmod(0o400)
    line = refused(program, '-c', conf(cluster, kind, tmp_path, ('key_file', f'"{bad}"')),
                   **environment(cluster))
    assert 'bad.secret' in line
    line = refused(program, '-c', conf(cluster, kind, tmp_path, ('key_file', '"/no/key"')),
                   **environment(cluster))
    assert '/no/key' in line
    open_to_all = tmp_path / 'open.secret'
    name = {'shard': 'shard-1', 'coordinator': 'coordinator-1'}[kind]
    shutil.copy(os.path.join(cluster.dir, 'keys', name + '.secret'), open_to_all)
    open_to_all.chmod(0o644)
    line = refused(program, '-c', conf(cluster, kind, tmp_path, ('key_file', f'"{open_to_all}"')),
                   **environment(cluster))
    assert 'open.secret' in line


def test_a_store_of_another_program(cluster, tmp_path):
    store = tmp_path / 'store'
    store.mkdir()
    shutil.copytree(os.path.join(cluster.dir, 'store', 'shard-1'), store, dirs_exist_ok=True)
    line = refused(daemon('heddle-coordinator'), '-c',
                   conf(cluster, 'coordinator', tmp_path, ('store_dir', f'"{store}"')))
    assert str(store) in line


def test_no_simulator(cluster, tmp_path):
    line = refused(daemon('heddle-shard'), '-c', conf(cluster, 'shard', tmp_path),
                   **environment(cluster))
    assert 'simulator' in line


def test_no_such_port(make_cluster, tmp_path):
    running = make_cluster('pgft:2:4,4:1,2:1,1', 1)
    for port in ('{ guid = "0xdead"; }', '{ device = "mlx5_9"; port = 1; }'):
        path = conf(running, 'shard', tmp_path, ('port', port),
                    ('store_dir', f'"{tmp_path}/store"'))
        line = refused(HEDDLE, 'lab', 'run', '--dir', running.dir, '--timeout', '15', '--',
                       'heddle-shard', '-c', path)
        assert 'dead' in line or 'mlx5_9' in line


def test_the_command(cluster):
    for arguments in (['nonsense'], ['status', '--nonsense'], ['fabric', 'convert', '/none', 'x'],
                      ['status', '--dir', '/none'], ['route', 'trace', '--dir', cluster.dir],
                      ['status', '--dir', cluster.dir, '--timeout', '1']):
        refused(HEDDLE, *arguments)
