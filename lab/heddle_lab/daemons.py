# SPDX-License-Identifier: BSD-2-Clause
"""The daemons of a lab: how each is called, with which environment, and starting one of them."""
import os
import random
import socket
import time

from heddle_lab import build, procs
from heddle_lab.errors import LabError

READY_TIMEOUT_S = 30
LAST_LINES = 12
PORTS = (15000, 32000)


def free_ports(count):
    """TCP ports of 127.0.0.1 that nobody has bound, all different.

    They are below the range of outgoing connections: one of those could take the port of a daemon
    that is down for a moment.
    """
    sockets = []
    try:
        while len(sockets) < count:
            s = socket.socket()
            try:
                s.bind(('127.0.0.1', random.randrange(*PORTS)))
            except OSError:
                s.close()
                continue
            sockets.append(s)
        return [s.getsockname()[1] for s in sockets]
    finally:
        for s in sockets:
            s.close()


def environment(lab, host=None, mad_log=None):
    """What a process of the lab sees; with host, it is attached to the simulator there."""
    env = dict(os.environ)
    for name in ('LD_PRELOAD', 'SIM_HOST', 'IBSIM_SERVER_NAME', 'HEDDLE_MAD_LOG', 'HEDDLE_CONFIG'):
        env.pop(name, None)
    env[procs.LAB_ID] = lab.data['id']
    env[procs.LAB_AT] = lab.dir
    env['IBSIM_SOCKNAME'] = lab.data['sockname']
    if host is not None:
        env['SIM_HOST'] = host
        env['LD_PRELOAD'] = build.preload(lab.data['build'])
        given = env.get('ASAN_OPTIONS', '')  # a sanitizer's library comes after a preload
        env['ASAN_OPTIONS'] = ':'.join(filter(None, [given, 'verify_asan_link_order=0']))
    if mad_log is not None:
        env['HEDDLE_MAD_LOG'] = mad_log
    return env


def describe(lab, name, argv, host=None, ports=()):
    """The record of state.json, without a process yet."""
    return {
        'argv': argv,
        'cwd': lab.path('run', name),
        'log': lab.path('log', name + '.log'),
        'mad_log': lab.path('log', name + '.mad') if host else None,
        'node': host,
        'ports': list(ports),
        'proc': None,
    }


def describe_simulator(lab, net, options):
    argv, more = lab.simulator.record(lab, net, options)
    return {**describe(lab, lab.simulator.name, argv), **more}


def launch(lab, name):
    """Starts a recorded daemon and records its process."""
    daemon = lab.daemons[name]
    env = environment(lab, daemon['node'], daemon['mad_log'])
    daemon['log_from'] = os.path.getsize(daemon['log']) if os.path.exists(daemon['log']) else 0
    daemon['started_ns'] = time.monotonic_ns()
    if name == lab.simulator.name:
        daemon['proc'] = lab.simulator.start(daemon, env)
    else:
        daemon['proc'] = procs.start(daemon['argv'], env, daemon['cwd'], daemon['log'])
    lab.save()


def wait_ready(lab, name):
    """Until it listens on its ports, or the simulator has read the fabric."""
    daemon = lab.daemons[name]
    if name == lab.simulator.name:
        sim = lab.simulator
        _wait(name, daemon, lambda: sim.is_ready(daemon), sim.load_timeout_s, 'is not ready')
    for port in daemon['ports']:
        _wait(name, daemon, lambda: _listens(port), READY_TIMEOUT_S,
              f'does not listen on port {port}')


def _wait(name, daemon, condition, timeout_s, what):
    deadline = time.monotonic() + timeout_s
    while not condition():
        procs.reap()
        if not procs.alive(daemon['proc']):
            raise LabError(f'{name} ended at start')
        if time.monotonic() > deadline:
            raise LabError(f'{name} {what} after {timeout_s} s')
        time.sleep(0.02)


def _listens(port):
    """Looked up, not connected to: a stray connection would be a fault in the daemon's log."""
    wanted = f'0100007F:{port:04X}'
    with open('/proc/net/tcp', encoding='ascii') as table:
        return any(f[1] == wanted and f[3] == '0A' for f in (line.split() for line in table))


def last_lines(lab, name):
    """The end of a daemon's log since its last start, for a person who wants to know why."""
    daemon = lab.daemons[name]
    try:
        with open(daemon['log'], 'rb') as f:
            f.seek(daemon.get('log_from', 0))
            lines = f.read().decode('utf-8', 'replace').splitlines()[-LAST_LINES:]
    except OSError:
        lines = []
    return ''.join(f'  {name}: {line}\n' for line in lines)
