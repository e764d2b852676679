# SPDX-License-Identifier: BSD-2-Clause
"""What heddle says to wrong words and files: one clear line, the right status, no hang."""
import json
import os
import stat
import subprocess

import pytest

HEDDLE = os.path.join(os.environ['HEDDLE_BUILD'], 'bin', 'heddle')
FABRIC = 'pgft:2:4,4:1,2:1,1'


def heddle(*words, **more):
    environment = {k: v for k, v in os.environ.items() if k != 'HEDDLE_CONFIG'}
    environment.update(more)
    return subprocess.run([HEDDLE, *words], capture_output=True, text=True, timeout=30,
                          stdin=subprocess.DEVNULL, env=environment, check=False)


def one_line(done, status, *parts):
    assert done.returncode == status, done.stderr
    assert done.stdout == ''
    assert done.stderr.count('\n') == 1, done.stderr
    for part in parts:
        assert part in done.stderr


@pytest.mark.parametrize('words, parts', [
    ([], ['no command given', 'see heddle --help']),
    (['bogus'], ['unknown command "bogus"', 'see heddle --help']),
    (['--bogus'], ['unknown option --bogus', 'see heddle --help']),
    (['fabric'], ['see heddle fabric --help']),
    (['fabric', 'bogus'], ['unknown command "fabric bogus"', 'see heddle fabric --help']),
    (['status', '--bogus'], ['unknown option --bogus', 'see heddle status --help']),
    (['status', 'x'], ['unexpected argument "x"', 'see heddle status --help']),
    (['status', '--wait', 'peace'], ['--wait peace']),
    (['status', '--timeout', 'soon'], ['--timeout soon', 'expected seconds']),
    (['status', '--timeout', '-1'], ['expected seconds']),
    (['status', '--timeout', 'nan'], ['expected seconds']),
    (['status', '--timeout'], ['--timeout']),
    (['status', '--dir', 'a', '--config', 'b'], ['not both']),
    (['route', 'trace', '1'], ['missing argument', 'SRC DST']),
    (['route', 'check', '--engine', 'magic'], ['--engine magic', 'ftree, updn']),
    (['route', 'check', '--fabric', FABRIC, '--root', 'x'], ['--root x', 'expected a GUID']),
    (['route', 'check', '--lfts', 'x', '--engine', 'updn'], ['takes no --engine']),
    (['route', 'check', '--engine', 'updn,updn'], ['updn twice']),
    (['route', 'check', '--vls', '16'], ['--vls 16', 'from 1 to 15']),
    (['route', 'check', '--engine', 'file'], ['--tables FILE']),
    (['route', 'compute'], ['--fabric is missing']),
    (['route', 'compute', '--fabric', FABRIC, 'x'], ['unexpected argument "x"']),
    (['route', 'compute', '--fabric', FABRIC, '--engine', 'magic'], ['"magic"', 'ftree, updn']),
    (['route', 'compute', '--fabric', FABRIC, '--engine', ''], ['--engine']),
    (['route', 'compute', '--fabric', FABRIC, '--engine', 'file'], ['--tables FILE']),
    (['route', 'compute', '--fabric', FABRIC, '--tables', 'x'], ['engine file']),
    (['route', 'compute', '--fabric', FABRIC, '--threads', '-1'], ['--threads -1']),
    (['route', 'compute', '--fabric', FABRIC, '--threads', '2x'], ['2x']),
    (['route', 'compute', '--fabric', FABRIC, '--vls', '0'], ['--vls 0', 'from 1 to 15']),
    (['route', 'compute', '--fabric', FABRIC, '--lmc', '8'], ['--lmc 8']),
    (['route', 'compute', '--fabric', FABRIC, '--json', '-', '--lfts-out', '-'], ['both']),
    (['--json', 'route', 'compute', '--fabric', FABRIC], ['does not take --json']),
    (['route', 'quality', '--fabric', FABRIC, '--permutations', '0'], ['--permutations 0']),
    (['route', 'quality', '--fabric', FABRIC, '--shifts', '-2'], ['--shifts -2']),
    (['route', 'degrade', '--fabric', FABRIC], ['what is to be taken']),
    (['route', 'degrade', '--fabric', FABRIC, '--links', '101'], ['--links 101']),
    (['route', 'degrade', '--fabric', FABRIC, '--links', '-1'], ['--links -1']),
    (['route', 'degrade', '--fabric', FABRIC, '--switches', '1:x'], ['--switches 1:x']),
    (['route', 'degrade', '--fabric', FABRIC, '--without', 'x'], ['--without x']),
    (['route', 'degrade', '--fabric', FABRIC, '--without', '0x1/0'], ['--without 0x1/0']),
    (['fabric', 'convert', FABRIC], ['missing argument']),
    (['keys', 'generate', 'x'], ['--kind is missing']),
    (['keys', 'generate', 'x', '--kind', 'rsa'], ['--kind rsa', 'curve, sign or cluster']),
    (['keys', 'generate', '../x', '--kind', 'sign'], ['../x']),
    (['--json', 'keys', 'generate', 'x', '--kind', 'sign'], ['does not take --json']),
    (['--dir', 'D', 'lab', 'status'], ['after its command']),
])
def test_called_wrongly(words, parts):
    one_line(heddle(*words), 2, *parts)


@pytest.mark.parametrize('words, parts', [
    (['status', '--dir', '/nowhere'], ['/nowhere/operator.conf', '--config FILE']),
    (['fabric', 'convert', '/nowhere', '-'], ['/nowhere', 'pgft:']),
    (['fabric', 'convert', 'pgft:9', '-'], ['pgft']),
    (['fabric', 'convert', FABRIC, '/nowhere/out'], ['/nowhere/out']),
    (['fabric', 'convert', FABRIC, '/dev/full'], ['No space left']),
    (['keys', 'generate', 'x', '--kind', 'sign', '--dir', '/nowhere'], ['/nowhere']),
    (['route', 'check', '--fabric', FABRIC, '--lfts', '/nowhere'], ['/nowhere']),
    (['route', 'check', '--fabric', FABRIC, '--lfts', '/dev/null'], ['no regular file']),
    (['route', 'check', '--fabric', FABRIC, '--json', '/nowhere/x'], ['/nowhere/x']),
    (['route', 'check', '--fabric', FABRIC, '--engine', 'file', '--tables', '/nowhere'],
     ['/nowhere']),
    (['route', 'compute', '--fabric', '/nowhere'], ['/nowhere', 'pgft:']),
    (['route', 'compute', '--fabric', FABRIC, '--json', '/nowhere/x'], ['/nowhere/x']),
    (['route', 'compute', '--fabric', FABRIC, '--lfts-out', '/nowhere/x'], ['/nowhere/x']),
    (['route', 'compute', '--fabric', FABRIC, '--json', '/tmp'], ['/tmp', 'directory']),
    (['route', 'compute', '--fabric', FABRIC, '--roots', '/nowhere'], ['/nowhere']),
    (['route', 'compute', '--fabric', FABRIC, '--cn', '/nowhere'], ['/nowhere']),
    (['route', 'compute', '--fabric', FABRIC, '--picture', '/nowhere/x'], ['/nowhere/x']),
    (['route', 'quality', '--fabric', FABRIC, '--picture', '/nowhere/x'], ['/nowhere/x']),
    (['route', 'quality', '--fabric', FABRIC, '--jobs', '/nowhere'], ['/nowhere']),
    (['route', 'compute', '--fabric', FABRIC, '--torus', '/nowhere'], ['/nowhere']),
    (['route', 'compute', '--fabric', FABRIC, '--torus', '/dev/zero'], ['/dev/zero']),
    (['route', 'compute', '--fabric', FABRIC, '--io', '/nowhere'], ['/nowhere']),
    (['route', 'compute', '--fabric', FABRIC, '--engine', 'file', '--tables', '/nowhere'],
     ['/nowhere']),
    (['route', 'compare', '--fabric', FABRIC, '--engine', 'ftree', '--lfts', '/nowhere'],
     ['/nowhere']),
    (['route', 'degrade', '--fabric', FABRIC, '--links', '5', '--write', '/nowhere/x'],
     ['/nowhere/x']),
    (['route', 'degrade', '--fabric', FABRIC, '--without', '0xdead'], ['0x000000000000dead']),
    (['route', 'compute', '--fabric', FABRIC, '--root', '0xdead'], ['0x000000000000dead']),
])
def test_wrong_files(words, parts):
    one_line(heddle(*words), 1, *parts)


@pytest.mark.parametrize('words', [
    [], ['status'], ['shard', 'list'], ['domain', 'list'], ['node', 'list'], ['route', 'trace'],
    ['route', 'check'], ['route', 'compute'], ['route', 'quality'], ['route', 'compare'],
    ['route', 'degrade'], ['topology', 'export'], ['fabric', 'convert'], ['keys', 'generate'],
    ['fabric'], ['shard'], ['domain'], ['node'], ['route'], ['topology'], ['keys'],
])
def test_help(words):
    done = heddle(*words, '--help')
    assert done.returncode == 0 and done.stderr == ''
    assert done.stdout.startswith('Usage:\n  heddle ' + ' '.join(words))


def test_version():
    done = heddle('--version')
    assert done.returncode == 0 and done.stdout.startswith('heddle ')


def test_full_output():
    with open('/dev/full', 'w', encoding='utf-8') as full:
        done = subprocess.run([HEDDLE, 'route', 'check', '--fabric', FABRIC], stdout=full,
                              stderr=subprocess.PIPE, text=True, timeout=30, check=False)
    assert done.returncode == 1 and 'cannot write the output' in done.stderr


def conf(path, **change):
    values = {'cluster': '"c"', 'name': '"operator"', 'key_file': '"operator.secret"',
              'coordinators': '( { name = "c1"; endpoint = "tcp://127.0.0.1:9"; '
                              'public_key = "operator.public"; } )'}
    values.update(change)
    file = path / 'operator.conf'
    file.write_text(''.join(f'{k} = {v};\n' for k, v in values.items() if v))
    return str(file)


@pytest.fixture(name='keys')
def _keys(tmp_path):
    for kind, name in (('curve', 'operator'), ('sign', 'sign'), ('cluster', 'cluster')):
        done = heddle('keys', 'generate', name, '--kind', kind, '--dir', str(tmp_path))
        assert done.returncode == 0, done.stderr
    return tmp_path


def test_keys(keys):
    assert stat.S_IMODE((keys / 'operator.secret').stat().st_mode) == 0o400
    assert sorted(p.name for p in keys.iterdir()) == [
        'cluster.secret', 'operator.public', 'operator.secret', 'sign.public', 'sign.secret']
    one_line(heddle('keys', 'generate', 'sign', '--kind', 'sign', '--dir', str(keys)), 1, 'exists')


@pytest.mark.parametrize('change, part', [
    ({'cluster': None}, 'setting "cluster" is missing'),
    ({'cluster': '7'}, '"cluster" must be a text'),
    ({'name': '"' + 'x' * 64 + '"'}, 'at most 63 bytes'),
    ({'key_file': '"missing"'}, 'missing'),
    ({'key_file': '"cluster.secret"'}, 'cluster.secret'),
    ({'coordinators': None}, '"coordinators" must be a list'),
    ({'coordinators': '( )'}, '"coordinators" must be a list'),
    ({'coordinators': '( 7 )'}, 'must be a group'),
    ({'coordinators': '( { name = "c"; endpoint = "udp://x"; public_key = "operator.public"; } )'},
     'tcp://ADDRESS:PORT'),
    ({'coordinators': '( { name = "c"; endpoint = "tcp://h:1"; public_key = "zz"; } )'}, 'zz'),
    ({'colour': '"red"'}, 'unknown setting "colour"'),
    ({'coordinators': '( { name = "c"; endpoint = "tcp://h:70000"; public_key = '
                      '"operator.public"; } )'}, 'operator.conf:4: "endpoint"'),
    ({'cluster': '= "a"'}, 'operator.conf:1: syntax error'),
])
def test_wrong_configuration(keys, change, part):
    one_line(heddle('status', '--config', conf(keys, **change)), 1, part)


def test_all_errors_of_a_configuration(keys):
    done = heddle('status', '--config', conf(keys, cluster='7', name=None, colour='1'))
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 3, done.stderr


def test_files_that_are_none(tmp_path):
    fifo = str(tmp_path / 'fifo')
    os.mkfifo(fifo)
    for path, why in ((str(tmp_path), 'it is a directory'), (fifo, 'no regular file')):
        one_line(heddle('status', '--config', path), 1, path, why)
    one_line(heddle('fabric', 'convert', fifo, '-'), 1, fifo, 'nobody writes')
    one_line(heddle('fabric', 'convert', '/dev/zero', '-'), 1, '/dev/zero', 'no regular file')
    one_line(heddle('route', 'check', '--fabric', FABRIC, '--lfts', fifo), 1, fifo)


@pytest.mark.parametrize('name', ['../x', 'a b', '', '-x', '.x', 'a\nb', 'ä'])
def test_names_of_keys(tmp_path, name):
    one_line(heddle('keys', 'generate', '--kind', 'curve', '--dir', str(tmp_path), '--', name), 2,
             'NAME')
    assert not list(tmp_path.iterdir())


def test_root_that_is_not_there():
    one_line(heddle('route', 'check', '--fabric', FABRIC, '--root', '0xdead'), 1,
             '0x000000000000dead', 'no such switch')


def test_unreachable(keys):
    conf(keys)
    one_line(heddle('status', '--dir', str(keys), '--timeout', '0.3'), 1,
             'c1 at tcp://127.0.0.1:9', 'is it running?')
    one_line(heddle('status', '--timeout', '0.3', HEDDLE_CONFIG=str(keys / 'operator.conf')), 1,
             'c1 at tcp://127.0.0.1:9')
    (keys / 'operator.secret').chmod(0o644)
    one_line(heddle('status', '--dir', str(keys)), 1, 'operator.secret', 'chmod 0400')


def test_convert(tmp_path):
    out = tmp_path / 'net'
    assert heddle('fabric', 'convert', FABRIC, str(out)).returncode == 0
    again = heddle('fabric', 'convert', str(out), '-')
    assert again.returncode == 0 and again.stdout == out.read_text()
    assert [p.name for p in tmp_path.iterdir()] == ['net']


def test_check():
    done = heddle('route', 'check', '--fabric', FABRIC, '--json')
    report = json.loads(done.stdout)
    assert done.returncode == 0 and report['ok'] and report['switches'] == 6
    assert report['unreachable'] == report['loops'] == report['credit_loop_channels'] == 0


def test_lab():
    done = heddle('lab', '--help')
    assert done.returncode == 0 and 'lab' in done.stdout


def test_man_page():
    """It has every command."""
    with open(os.path.join(os.environ['HEDDLE_SOURCE'], 'docs', 'heddle.1'), encoding='utf-8') as f:
        page = f.read()
    listed = heddle('--help').stdout.partition('Commands:\n')[2].partition('\n\n')[0]
    commands = [line[2:19].strip() for line in listed.splitlines()]
    assert len(commands) > 8
    for command in commands:
        assert f'heddle {command}' in page
