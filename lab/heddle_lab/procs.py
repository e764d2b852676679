# SPDX-License-Identifier: BSD-2-Clause
"""Processes: known by pid and start time, so that a recycled pid is never hit.

Everything that a lab starts carries HEDDLE_LAB=<id> in its environment; `stragglers` finds by it
whatever a daemon or a command left behind. HEDDLE_LAB_AT=<directory> finds labs whose directory,
and with it their state.json, was removed under them.
"""
import os
import select
import signal
import subprocess
import time

from heddle_lab.errors import LabError

LAB_ID = 'HEDDLE_LAB'
LAB_AT = 'HEDDLE_LAB_AT'


def _stat(pid):
    """(state, session, start time) of a process, or None."""
    try:
        with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as f:
            fields = f.read().rpartition(')')[2].split()
    except OSError:
        return None
    return fields[0], int(fields[3]), int(fields[19])


def identity(pid):
    stat = _stat(pid)
    return None if stat is None else {'pid': pid, 'start': stat[2]}


def state_of(proc):
    """'running', 'stopped' or 'dead'."""
    stat = _stat(proc['pid']) if proc else None
    if stat is None or stat[2] != proc['start'] or stat[0] in 'ZX':
        return 'dead'
    return 'stopped' if stat[0] in 'Tt' else 'running'


def alive(proc):
    return state_of(proc) != 'dead'


def send(proc, signum):
    """Sends to that very process; the monotonic time (ns) just before, or None if it is dead."""
    try:
        fd = os.pidfd_open(proc['pid'])
    except OSError:
        return None
    try:
        if not alive(proc):  # checked after the descriptor is ours
            return None
        now = time.monotonic_ns()
        signal.pidfd_send_signal(fd, signum)
        return now
    except ProcessLookupError:
        return None
    finally:
        os.close(fd)


def wait_end(proc, timeout_s):
    """True once it has ended."""
    try:
        fd = os.pidfd_open(proc['pid'])
    except OSError:
        return True
    try:
        if not alive(proc):
            return True
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        return bool(poll.poll(timeout_s * 1000)) or not alive(proc)
    finally:
        os.close(fd)


def start(argv, env, cwd, log, stdin=subprocess.DEVNULL, out_log=None):
    """Starts a daemon in a session of its own, its output appended to log (its standard output to
    out_log, if given)."""
    os.makedirs(cwd, exist_ok=True)
    with open(log, 'ab') as err, open(out_log or log, 'ab') as out:
        try:
            child = subprocess.Popen(argv, env=env, cwd=cwd, stdin=stdin, stdout=out, stderr=err,
                                     start_new_session=True)
        except OSError as e:
            raise LabError(f'cannot start {argv[0]}: {e.strerror}') from e
    child.returncode = 0  # ours to watch through /proc; nobody waits for it here
    return identity(child.pid)


def reap():
    """Collects children that have ended, so that they are no zombies while we run."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def stop(procs, grace_s):
    """SIGTERM to all, SIGKILL to those that are still there after grace_s."""
    for proc in procs:
        send(proc, signal.SIGCONT)
        send(proc, signal.SIGTERM)
    deadline = time.monotonic() + grace_s
    for proc in procs:
        if not wait_end(proc, max(0, deadline - time.monotonic())):
            send(proc, signal.SIGKILL)
            wait_end(proc, 5)
    reap()


def _ancestors():
    pids, pid = set(), os.getpid()
    while pid > 1:
        pids.add(pid)
        try:
            with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as f:
                pid = int(f.read().rpartition(')')[2].split()[1])
        except OSError:
            break
    return pids


def stragglers(value, name=LAB_ID):
    """Identities of all processes with NAME=VALUE in their environment, but for our own line."""
    mark = os.fsencode(f'{name}={value}')
    mine = _ancestors()
    found = []
    for entry in os.listdir('/proc'):
        if not entry.isdigit() or int(entry) in mine:
            continue
        try:
            with open(f'/proc/{entry}/environ', 'rb') as f:
                marked = mark in f.read().split(b'\0')
        except OSError:
            continue
        proc = identity(int(entry)) if marked else None
        if proc is not None and alive(proc):
            found.append(proc)
    return found
