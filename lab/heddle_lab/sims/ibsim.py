# SPDX-License-Identifier: BSD-2-Clause
"""ibsim: its size, its start, its console and what it cannot survive.

Its standard input is a FIFO that it holds open for reading and writing itself, so that the console
stays open with nobody in between; its standard output goes to a file of its own (warnings go to the
log), in which a command's answer is what comes before the next prompt.
"""
import os
import re
import signal
import shutil
import time

from heddle_lab import procs
from heddle_lab.errors import LabError, Refused

MAX_CLIENTS = 10
CLIENTS_FOR_TOOLS = 2
MAX_SHARDS = MAX_CLIENTS - CLIENTS_FOR_TOOLS
MAX_LID = 0xbfff
LOAD_TIMEOUT_S = 120
ANSWER_TIMEOUT_S = 10
MAX_COMMAND = 126
PROMPT = b'sim> '
READY = b'Network simulator ready.'


def check_shards(count):
    if count > MAX_SHARDS:
        raise Refused(f'--shards {count}: ibsim serves {MAX_CLIENTS} clients, of which '
                      f'{CLIENTS_FOR_TOOLS} are kept for tools; at most {MAX_SHARDS} shards')


def check_signal(name, signum):
    stopping = (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)
    if signum in stopping and name.startswith('shard'):
        raise Refused(f'{signal.Signals(signum).name} to {name}: ibsim would not survive it, '
                      'since it waits for ever for a stopped client whose queue is full')


def argv(net, net_file):
    """The command line, with room for exactly this fabric."""
    program = shutil.which('ibsim')
    if program is None:
        raise LabError('ibsim is not installed; run scripts/setup or: apt-get install ibsim-utils')
    ports = sum(n.num_ports + 1 for n in net.nodes.values())
    return [program, '-s', f'-N{len(net.nodes) + 1}', f'-S{len(net.switches) + 1}',
            f'-P{ports + 1}', f'-L{MAX_LID + 1}', net_file]


def make_console(path):
    if os.path.exists(path):
        os.unlink(path)
    os.mkfifo(path, 0o600)


def open_console(path):
    return os.open(path, os.O_RDWR | os.O_CLOEXEC)


def wait_ready(daemon):
    deadline = time.monotonic() + LOAD_TIMEOUT_S
    while time.monotonic() < deadline:
        with open(daemon['answers'], 'rb') as f:
            if READY in f.read():
                return
        if not procs.alive(daemon['proc']):
            raise LabError('ibsim ended while it read the fabric')
        procs.reap()
        time.sleep(0.02)
    raise LabError(f'ibsim did not read the fabric within {LOAD_TIMEOUT_S} s')


def command(lab, text):
    """Sends one console command; its answer. The caller holds the lab's lock."""
    daemon = lab.daemons['ibsim']
    if len(text) > MAX_COMMAND:
        raise LabError(f'ibsim takes no command of more than {MAX_COMMAND} characters: {text}')
    at = os.path.getsize(daemon['answers'])
    try:
        fd = os.open(daemon['console'], os.O_WRONLY | os.O_NONBLOCK)
    except OSError as e:
        raise LabError('the simulator is gone; see ' + daemon['log']) from e
    try:
        os.write(fd, text.encode() + b'\n')
    finally:
        os.close(fd)
    return _answer(daemon, at)


def _answer(daemon, at):
    deadline = time.monotonic() + ANSWER_TIMEOUT_S
    while time.monotonic() < deadline:
        with open(daemon['answers'], 'rb') as f:
            f.seek(at)
            answer = f.read()
        if answer.endswith(PROMPT):
            return answer[:-len(PROMPT)].decode('utf-8', 'replace').strip()
        if not procs.alive(daemon['proc']):
            raise LabError('the simulator died; see ' + daemon['log'])
        time.sleep(0.002)
    raise LabError(f'the simulator did not answer its console within {ANSWER_TIMEOUT_S} s; '
                   f'see {daemon["log"]}')


def change(lab, text):
    """A command that answers nothing when it worked."""
    answer = command(lab, text)
    errors = [s[1:].strip() for s in answer.splitlines() if s.startswith('#') or 'unknown' in s]
    if errors:
        raise LabError(f'ibsim: {errors[0]}')


def change_without_traps(lab, commands):
    """Applies changes of links whose traps are lost on their way into the shards' ports.

    All in one turn of the simulator (commands from a file), so that nothing else is lost."""
    name = 'commands'
    hosts = [d['node'] for d in lab.daemons.values() if d['node']]
    lines = [f'Error "{h}"[1] 100' for h in hosts] + commands + [f'Error "{h}"[1] 0' for h in hosts]
    with open(os.path.join(lab.daemons['ibsim']['cwd'], name), 'w', encoding='ascii') as f:
        f.write('\n'.join(lines) + '\n')
    change(lab, f'!{name}')


def attached(lab):
    """(slot, pid) of each client."""
    found = re.findall(r'^Client (\d+): pid (\d+) ', command(lab, 'Attached'), re.M)
    return [(int(slot), int(pid)) for slot, pid in found]


def free_dead_clients(lab):
    """A killed client keeps its slot until a write to it fails: frees those of dead processes."""
    taken = 0
    for slot, pid in attached(lab):
        if procs.identity(pid) is None:
            command(lab, f'X {slot}')
        else:
            taken += 1
    return taken
