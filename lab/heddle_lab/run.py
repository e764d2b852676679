# SPDX-License-Identifier: BSD-2-Clause
"""heddle lab run: any libibumad program inside the fabric, never for ever."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile

from heddle_lab import daemons
from heddle_lab.errors import LabError, Refused
from heddle_lab.net import read_net
from heddle_lab.place import usable_hosts
from heddle_lab.state import Lab

TIMED_OUT = 124  # as timeout(1) has it
KILL_GRACE_S = 2


def _host(lab, at):
    net = read_net(lab.data['net'])
    if at is not None:
        return net.find(at).id
    taken = {d['node'] for d in lab.daemons.values()}
    free = [h for h in usable_hosts(net)
            if h.id not in taken and h.id not in lab.data['nodes_down']]
    if not free:
        raise LabError('every host has a daemon; choose one with --at HOST')
    return free[-1].id


def _end_group(child):
    """Ends the command and whatever it started in its session."""
    for signum in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(child.pid, signum)
        except ProcessLookupError:
            return
        try:
            child.wait(KILL_GRACE_S)
        except subprocess.TimeoutExpired:
            continue


def _wait(child, timeout_s, name):
    def on_signal(signum, _frame):
        raise KeyboardInterrupt(signum)
    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGHUP, on_signal)
    try:
        status = child.wait(timeout_s)
        return status if status >= 0 else 128 - status
    except subprocess.TimeoutExpired:
        print(f'heddle lab: {name} did not end within {timeout_s:g} s and was ended',
              file=sys.stderr)
        return TIMED_OUT
    except KeyboardInterrupt as e:
        return 128 + (e.args[0] if e.args else signal.SIGINT)
    finally:
        _end_group(child)


def run(options):
    if not options.command:
        raise Refused('no command; expected: heddle lab run [--at HOST] -- COMMAND ...')
    if options.timeout <= 0:
        raise Refused(f'--timeout {options.timeout:g}: must be more than 0')
    lab = Lab(options.dir).load()
    lab.need_running()
    mad_log = os.path.abspath(options.mad_log) if options.mad_log else None
    env = daemons.environment(lab, _host(lab, options.at), mad_log)
    env['ASAN_OPTIONS'] += ':detect_leaks=0'  # the leaks of other people's tools are theirs
    # OpenSM takes up the LIDs that it finds there: those of other fabrics are none of this lab's.
    for name in ('OSM_CACHE_DIR', 'OSM_TMP_DIR'):
        env.setdefault(name, lab.path('opensm'))
    env['PATH'] = os.path.join(lab.data['build'], 'bin') + ':' + env.get('PATH', '/usr/bin:/bin')
    for sbin in ('/usr/local/sbin', '/usr/sbin', '/sbin'):
        env['PATH'] += ':' + sbin
    program = shutil.which(options.command[0], path=env['PATH'])
    if program is None:
        raise LabError(f'{options.command[0]}: there is no such program', 127)
    os.makedirs(lab.path('opensm'), exist_ok=True)
    directory = tempfile.mkdtemp(prefix=os.path.basename(program) + '-', dir=lab.path('run'))
    try:
        child = subprocess.Popen([program, *options.command[1:]], env=env, cwd=directory,
                                 start_new_session=True)
        return _wait(child, options.timeout, options.command[0])
    except OSError as e:
        raise LabError(f'{program}: cannot be run: {e.strerror}', 126) from e
    finally:
        if not os.listdir(directory):
            os.rmdir(directory)
