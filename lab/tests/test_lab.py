# SPDX-License-Identifier: BSD-2-Clause
"""Whole labs: up, its failures, run, kill and start, links and nodes, down."""
import json
import os
import shutil
import signal
import subprocess
import time

from conftest import real_simulator, run_lab
from heddle_lab import procs


def scan(lab, *options, complete=True):
    """The scanner's lines; it ends with status 1 where a node that it saw did not answer."""
    done = lab('run', '--', 'heddle-portscan', *options)
    assert (done.returncode == 0) == complete, done.stdout + done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {kind: [x for x in lines if x['kind'] == kind] for kind in ('port', 'link', 'lft', 'end')}


def traps_in(log):
    from heddle_lab import madlog
    return sum(m.kind == 'rx' and m.method == 0x05 and m.attribute == 0x0002
               for m in madlog.read(log))


def test_up_status_down(each_lab, tree):
    lab = each_lab
    out = lab.ok('up', tree)
    assert f'14 switches, 18 hosts, 3 shards on {lab.sim}' in out
    data = lab.state().data
    nodes = [d['node'] for d in data['daemons'].values() if d['node']]
    assert len(set(nodes)) == 3
    out = lab.ok('status')
    assert out.splitlines()[0].split() == ['simulator', lab.sim]
    assert out.count('running') == 5
    assert f'status of {lab.dir}/operator.conf' in out
    lab.ok('down')
    assert lab.left() == []
    lab.ok('down')  # again
    assert lab('status').returncode == 1
    lab.ok('up', tree, '--shards', '2')  # the same directory
    assert len(lab.state().daemons) == 4


def test_a_directory_with_a_running_lab_is_refused(lab, tree):
    lab.ok('up', tree, '--shards', '1')
    before = lab.state().data
    done = lab('up', tree)
    assert done.returncode == 2 and 'a lab is running' in done.stderr
    assert lab.state().data == before and len(lab.left()) == 3


def test_a_directory_of_somebody_else_is_refused(lab, tree):
    os.mkdir(lab.dir)
    with open(os.path.join(lab.dir, 'letter'), 'w', encoding='ascii') as f:
        f.write('mine')
    done = lab('up', tree)
    assert done.returncode == 2 and 'is not empty and no lab' in done.stderr
    assert os.listdir(lab.dir) == ['letter']


def test_a_lab_without_its_directory_is_not_forgotten(lab, tree):
    lab.ok('up', tree, '--shards', '1')
    lab_id = lab.state().data['id']
    shutil.rmtree(lab.dir)
    done = lab('up', tree, '--shards', '1')
    assert done.returncode == 2 and 'its directory was removed' in done.stderr
    lab.ok('down')
    assert procs.stragglers(lab_id) == []
    assert lab('down').returncode == 2
    lab.ok('up', tree, '--shards', '1')


def test_a_failed_up_leaves_a_usable_directory(lab, tree, tmp_path):
    done = lab('up', tree, '--build', str(tmp_path))
    assert done.returncode == 2 and 'no bin/heddle' in done.stderr
    assert not os.path.exists(lab.dir)
    assert lab('up', 'nofile.net').returncode != 0
    lab.ok('up', tree, '--shards', '1')


def test_a_state_that_no_lab_wrote(lab, tree):
    lab.ok('up', tree, '--shards', '1')
    lab_id = lab.state().data['id']
    path = os.path.join(lab.dir, 'state.json')
    with open(path, encoding='utf-8') as f:
        good = json.load(f)
    pid = json.loads(json.dumps(good))
    pid['daemons']['shard-1']['proc']['pid'] = 'x'
    for text in ('[]', '{"id": 5}', '\0', '{', '', '"x"', '[' * 100000, json.dumps(pid),
                 json.dumps(dict(good, daemons={lab.sim: {}})),
                 json.dumps(dict(good, sim='nonesuch')),
                 json.dumps(dict(good, links_down=[[1]]))):
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text)
        for words in (('status',), ('down',), ('start', 'shard-1'), ('up', tree)):
            done = lab(*words)
            assert done.returncode == 1 and done.stderr.count('\n') == 1, (text, done.stderr)
            assert path in done.stderr and 'move the directory away' in done.stderr
    os.rename(lab.dir, lab.dir + '.away')
    lab.ok('down')
    assert procs.stragglers(lab_id) == []


def test_start_tells_only_of_this_start(lab, tree):
    lab.ok('up', tree, '--shards', '1')
    lab.ok('kill', 'shard-1')
    with open(lab.state().daemons['shard-1']['log'], 'a', encoding='utf-8') as log:
        log.write('of an earlier start\n')
    done = lab('start', 'shard-1', FAKE_FAIL='shard-1')
    assert done.returncode == 1 and 'told to fail' in done.stderr, done.stderr
    assert 'earlier' not in done.stderr


def test_a_directory_that_is_not_utf8(lab, tree):
    for verb in (('up', tree), ('status',), ('down',)):
        done = subprocess.run([os.fsencode(w) for w in lab.argv(*verb)]
                              + [b'--dir', b'/tmp/\xff\xfe'], env=lab.environment({}),
                              capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == 2 and done.stderr.count('\n') == 1, done.stderr
        assert 'must be UTF-8' in done.stderr


def test_wrong_input_is_one_line(lab, tree):
    for arguments, words in ((('nofile.net',), 'No such file'),
                             ((tree, '--shards', '999'), 'are kept for tools'),
                             ((tree, '--shards', '-1'), 'at least 0'),
                             ((tree, '--shards', '0', '--at', 'a=b'), 'there are no daemons of heddle'),
                             ((tree, '--sim', 'ibsim', '--seed', '1'), 'use --sim heddle-sim'),
                             ((tree, '--at', 'shard-1'), 'expected NAME=NODE'),
                             ((tree, '--at', 'shard-1=H-nobody'), 'no node "H-nobody"'),
                             ((tree, '--at', 'shard-1=S-leaf00'), 'that is a switch'),
                             ((tree, '--set', 'x'), 'expected coordinator.NAME=VALUE'),
                             ((tree, '--domains', '/none'), 'No such file')):
        done = lab('up', *arguments)
        assert done.returncode != 0 and words in done.stderr
        assert len(done.stderr.splitlines()) == 1
        if os.path.exists(os.path.join(lab.dir, 'state.json')):
            assert lab.left() == []
    for verb in (('status',), ('down',), ('kill', 'x'), ('run', '--', 'true')):
        done = lab.beside()(*verb)
        assert done.returncode == 2 and 'is no lab' in done.stderr


def test_a_failed_up_says_why_and_leaves_nothing(lab, tree):
    for name in ('coordinator-1', 'shard-2'):
        done = lab('up', tree, FAKE_FAIL=name)
        assert done.returncode == 1
        assert f'{name} ended at start' in done.stderr and 'told to fail' in done.stderr
        assert lab.left() == []


def test_a_net_that_the_simulator_refuses(each_lab, tmp_path):
    lab = each_lab
    net = tmp_path / 'bad.net'
    net.write_text('Switch 4 "S@1"\n[1] "H"[1]\n\nCa 1 "H"\n\n')
    done = lab('up', str(net), '--shards', '1')
    assert done.returncode == 1 and f'{lab.sim} ended at start' in done.stderr
    assert lab.left() == []


def test_an_interrupted_up_leaves_nothing(lab, tree):
    for signum in (signal.SIGTERM, signal.SIGINT):
        for delay in (0.3, 0.8):
            child = subprocess.Popen(lab.argv('up', tree), env=lab.environment({}),
                                     stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
            time.sleep(delay)
            child.send_signal(signum)
            child.communicate(timeout=30)
            if child.returncode != 0:  # it may have been up already
                assert child.returncode in (128 + signum, -signum)
                if os.path.exists(os.path.join(lab.dir, 'state.json')):
                    assert lab.left() == []
            else:
                lab.ok('down')


def test_down_ends_the_deaf_and_what_daemons_leave(lab, tree):
    lab.ok('up', tree, '--shards', '1', FAKE_CHILD='1', FAKE_DEAF='shard-1')
    assert len(lab.left()) == 5
    lab.ok('kill', 'coordinator-1')
    lab.ok('down')
    assert lab.left() == []


def test_several_labs_live_side_by_side(lab, tree):
    other = lab.beside()
    lab.ok('up', tree, '--shards', '1')
    try:
        other.ok('up', tree, '--shards', '2')
        lab.ok('down')
        assert len(other.left()) == 4
    finally:
        other.ok('down')
    assert other.left() == []


def test_run_passes_status_output_and_a_directory(lab, tree):
    lab.ok('up', tree, '--shards', '1')
    assert lab('run', '--', 'sh', '-c', 'exit 7').returncode == 7
    assert lab('run', '--', 'sh', '-c', 'kill -9 $$').returncode == 137
    assert lab('run', '--', 'no-such-program').returncode == 127
    assert lab('run').returncode == 2
    first = lab.ok('run', '--', 'pwd').strip()
    second = lab.ok('run', '--', 'pwd').strip()
    assert first != second and first.startswith(lab.dir + '/run/')
    out = lab.ok('run', '--at', 'host 2.1.1', '--', 'sh', '-c', 'echo $SIM_HOST')
    assert out == lab.id_of('host 2.1.1') + '\n'
    host = lab.ok('run', '--', 'sh', '-c', 'echo $SIM_HOST').strip()
    assert host != lab.state().daemons['shard-1']['node']
    done = lab('run', '--at', 'nobody', '--', 'true')
    assert done.returncode == 2 and 'no node "nobody"' in done.stderr


def test_run_is_never_for_ever(lab, tree):
    lab.ok('up', tree, '--shards', '1')
    begin = time.monotonic()
    done = lab('run', '--timeout', '0.5', '--', 'sh', '-c', 'sleep 60 & sleep 60')
    assert done.returncode == 124 and 'did not end within 0.5 s' in done.stderr
    assert time.monotonic() - begin < 10
    assert len(lab.left()) == 3
    child = subprocess.Popen(lab.argv('run', '--', 'sleep', '60'), env=lab.environment({}))
    time.sleep(0.5)
    lab.ok('down')
    child.wait(10)


def test_the_fabric_is_seen_from_inside(each_lab, tree):
    lab = each_lab
    lab.ok('up', tree, '--shards', '1')
    seen = scan(lab, '--lft')
    assert seen['end'][0]['nodes'] == 32 and seen['end'][0]['unanswered'] == 0
    assert len(seen['port']) == 32 and len(seen['lft']) == 14
    assert len(seen['link']) == 18 + 2 * 12 + 2 * 12
    if shutil.which('ibnetdiscover'):
        assert lab.ok('run', '--', 'ibnetdiscover').count('\nSwitch') == 14
    log = lab.dir + '/scan.mad'
    lab.ok('run', '--mad-log', log, '--', 'heddle-portscan')
    assert os.path.getsize(log) > 0


def test_links_and_nodes_go_down_and_come_back(each_lab, tree):
    lab = each_lab
    lab.ok('up', tree, '--shards', '1')
    whole = len(scan(lab)['link'])
    lab.ok('link', 'down', 'S-leaf21', '5')
    assert len(scan(lab)['link']) == whole - 2
    assert lab('link', 'down', 'S-spine20', '2').returncode == 2  # the other end of it
    lab.ok('node', 'down', 'S-spine20')
    seen = scan(lab)
    assert len(seen['link']) == whole - 8 and seen['end'][0]['nodes'] == 31
    assert f'node down      {lab.id_of("S-spine20")}' in lab.ok('status')
    lab.ok('node', 'up', 'S-spine20')
    assert len(scan(lab)['link']) == whole - 2
    lab.ok('link', 'up', 'S-spine20', '2')
    assert len(scan(lab)['link']) == whole
    lab.ok('node', 'down', 'host 0.0.1')
    assert scan(lab)['end'][0]['nodes'] == 31
    lab.ok('node', 'up', 'host 0.0.1')
    assert len(scan(lab)['link']) == whole


def test_neighbours_that_were_down_together_meet_again(each_lab, tree):
    lab = each_lab
    lab.ok('up', tree, '--shards', '1')
    whole = len(scan(lab)['link'])
    lab.ok('node', 'down', 'S-leaf20')
    lab.ok('node', 'down', 'S-spine20')
    lab.ok('link', 'down', 'S-leaf20', '6')
    lab.ok('node', 'up', 'S-leaf20')
    lab.ok('link', 'up', 'S-leaf20', '6')
    lab.ok('node', 'up', 'S-spine20')
    assert len(scan(lab)['link']) == whole


def test_traps_reach_an_sm_unless_they_are_not_wanted(each_lab, tree):
    """OpenSM on a host of the lab stands in for a shard: its MAD log shows the traps."""
    lab = each_lab
    lab.ok('up', tree, '--shards', '1')
    host = lab.state().daemons['shard-1']['node']
    log = lab.dir + '/opensm.mad'
    sm = subprocess.Popen(lab.argv('run', '--at', host, '--mad-log', log, '--', 'opensm', '-f',
                                   './log', '-R', 'updn'), env=lab.environment({}),
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        begin = time.monotonic()
        while 'SM' not in lab.ok('run', '--', 'sh', '-c', 'sminfo && echo SM || true'):
            assert time.monotonic() - begin < 30
            time.sleep(0.2)
        seen = traps_in(log)
        lab.ok('link', 'down', '--no-trap', 'S-leaf21', '1')
        lab.ok('link', 'up', '--no-trap', 'S-leaf21', '1')
        lab.ok('node', 'down', '--no-trap', 'host 1.1.1')
        lab.ok('node', 'up', '--no-trap', 'host 1.1.1')
        time.sleep(0.5)
        assert traps_in(log) == seen
        whole = len(scan(lab)['link'])
        lab.ok('link', 'down', 'S-leaf21', '1')
        time.sleep(0.5)
        assert traps_in(log) > seen
        assert len(scan(lab)['link']) == whole - 1
    finally:
        lab.ok('down')
        sm.wait(20)


def test_wrong_links_are_one_line(each_lab, tree):
    lab = each_lab
    lab.ok('up', tree, '--shards', '1')
    for arguments, words in ((('link', 'down', 'S-leaf00', '8'), 'has no cable on port 8'),
                             (('link', 'down', 'S-leaf00', 'x'), 'is no port number'),
                             (('link', 'up', 'S-leaf00', '1'), 'is up already'),
                             (('node', 'up', 'S-leaf00'), 'is up already'),
                             (('node', 'down', 'nobody'), 'no node "nobody"')):
        done = lab(*arguments)
        assert done.returncode == 2 and words in done.stderr, done.stderr
        assert len(done.stderr.splitlines()) == 1
    lab.ok('kill', lab.sim)
    done = lab('link', 'down', 'S-leaf00', '1')
    assert done.returncode == 1 and 'no simulator' in done.stderr
    assert lab('run', '--', 'true').returncode == 1


def test_kill_and_start(lab, tree):
    lab.ok('up', tree)
    before = time.monotonic_ns()
    out = lab.ok('kill', 'shard-2')
    told = dict(f.split('=') for f in out.split()[1:])
    assert told['signal'] == 'SIGKILL'
    assert before < int(told['monotonic_ns']) < time.monotonic_ns()
    assert lab('kill', 'shard-2').returncode == 1
    assert 'shard-2        dead' in lab.ok('status')
    lab.ok('start', 'shard-2')
    assert lab('start', 'shard-2').returncode == 2
    lab.ok('kill', 'coordinator-1', 'STOP')
    assert 'coordinator-1  stopped' in lab.ok('status')
    assert lab('kill', 'shard-1', 'NOSUCH').returncode == 2
    assert lab('kill', 'nobody').returncode == 2
    assert lab('start', lab.sim).returncode == 2


def test_killed_clients_give_their_slots_back(each_lab, tree):
    lab = each_lab
    lab.ok('up', tree, '--shards', '1')
    for _ in range(12):
        lab('run', '--', 'sh', '-c', 'ibnetdiscover >/dev/null & sleep 0.03; kill -9 $! $$')
    assert scan(lab)['end'][0]['nodes'] == 32


def test_a_stopped_shard(each_lab, tree):
    """ibsim would wait for it; heddle-sim goes on without it."""
    lab = each_lab
    lab.ok('up', tree, '--shards', '2')
    done = lab('kill', 'shard-1', 'STOP')
    if lab.sim == 'ibsim':
        assert done.returncode == 2 and 'would not survive' in done.stderr
    else:
        assert done.returncode == 0, done.stderr
        assert 'shard-1        stopped' in lab.ok('status')
    assert scan(lab)['end'][0]['nodes'] == 32


def test_a_fabric_alone_for_another_manager(each_lab, tree):
    lab = each_lab
    lab.ok('up', tree, '--shards', '0')
    assert list(lab.state().daemons) == [lab.sim] and len(lab.left()) == 1
    out = lab.ok('status')
    assert 'a fabric alone' in out and out.count('running') == 1
    lab.ok('run', '--at', 'host 0.0.0', '--', 'opensm', '-o', '-f', './log')
    assert all(p['state'] == 4 for p in scan(lab)['port'])
    lab.ok('down')
    assert lab('status').returncode == 1


def test_loss(each_lab, tree):
    lab = each_lab
    lab.ok('up', tree, '--shards', '0')
    lab.ok('loss', 'host 1.1.1', '1', '100')
    assert scan(lab, complete=False)['end'][0]['unanswered'] > 0
    lab.ok('loss', 'host 1.1.1', '1', '0')
    seen = scan(lab)['end'][0]
    assert seen['nodes'] == 32 and seen['unanswered'] == 0
    for wrong in ('x', '-1', '101', 'nan'):
        done = lab('loss', 'host 1.1.1', '1', '--', wrong)
        assert done.returncode == 2 and 'no share' in done.stderr, done.stderr


def test_commands_of_the_simulator(fake_lab, tree):
    lab = fake_lab
    lab.ok('up', tree, '--shards', '0')
    assert lab.ok('sim', 'show', 'a b[1]', 'x', 'say "hi"') == 'one\ntwo\n'
    assert lab.ok('sim', 'ping stop 1') == ''
    done = lab('sim', 'bad')
    assert done.returncode == 1 and done.stdout == 'some text\n'
    assert done.stderr == 'heddle lab sim: bad: no such command; see help\n'
    lab.ok('link', 'down', 'S-leaf00', '1')
    lab.ok('link', 'up', '--no-trap', 'S-leaf00', '1')
    leaf = lab.id_of('S-leaf00')
    with open(lab.dir + '/run/heddle-sim/asked', encoding='utf-8') as f:
        assert f.read().splitlines() == [
            'show "a b"[1] x "say \\"hi\\""', 'ping stop 1', 'bad', f'link {leaf}[1] down',
            'traps off', f'link {leaf}[1] up', 'traps on']
    for words, status, text in (((), 2, 'no command'), (('a\nb',), 2, 'is one line'),
                                (('x' * 5000,), 2, 'is one line'), (('die',), 1, 'ended in the'),
                                (('show',), 1, 'no simulator')):
        done = lab('sim', *words)
        assert done.returncode == status and text in done.stderr, done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_options_of_the_simulator(fake_lab, tree):
    lab = fake_lab
    lab.ok('up', tree, '--shards', '0', '--seed', '7', '--train-ms', '3', '--hosts', 'groups=2',
           '--sim-log', '--sim-script', 'faults', '--service', '10us')
    words = ' '.join(lab.state().daemons['heddle-sim']['argv'][1:])
    assert words.startswith(f'{lab.dir}/fabric.net --name heddle-lab-')
    assert words.endswith('--seed 7 --train-ms 3 --service 10us --hosts groups=2 '
                          f'--log {lab.dir}/log/heddle-sim.judge --script {os.getcwd()}/faults')


def test_a_simulator_that_ends_at_start(fake_lab, tree):
    done = fake_lab('up', tree, FAKE_FAIL='heddle-sim')
    assert done.returncode == 1 and 'heddle-sim ended at start' in done.stderr
    assert 'told to fail' in done.stderr and fake_lab.left() == []


def test_ibsim_has_no_such_commands(tmp_path, tree):
    for lab in run_lab(tmp_path, 'ibsim', real_simulator('ibsim')):
        lab.ok('up', tree, '--shards', '0')
        done = lab('sim', 'status')
        assert done.returncode == 2 and '--sim heddle-sim' in done.stderr
        assert lab('loss', 'host 0.0.0', '1', '0.5').returncode == 2
