# SPDX-License-Identifier: BSD-2-Clause
"""ibsim: its size, its start, its console and what it cannot survive.

Its standard input is a FIFO that it holds open for reading and writing itself, so that the console
stays open with nobody in between; its standard output goes to a file of its own (warnings go to the
log), in which a command's answer is what comes before the next prompt.
"""
import os
import re
import shutil
import signal
import time

from heddle_lab import procs
from heddle_lab.errors import LabError, Refused
from heddle_lab.sims.base import Simulator

MAX_LID = 0xbfff
ANSWER_TIMEOUT_S = 10
MAX_COMMAND = 126
PROMPT = b'sim> '
READY = b'Network simulator ready.'
STOPPING = (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)


def argv(net, net_file):
    """The command line, with room for exactly this fabric."""
    program = shutil.which('ibsim')
    if program is None:
        raise LabError('ibsim is not installed; run scripts/setup or: apt-get install ibsim-utils')
    ports = sum(n.num_ports + 1 for n in net.nodes.values())
    return [program, '-s', f'-N{len(net.nodes) + 1}', f'-S{len(net.switches) + 1}',
            f'-P{ports + 1}', f'-L{MAX_LID + 1}', net_file]


def _end(node, port):
    return f'"{node.id}"[{port}]'


class Ibsim(Simulator):
    name = 'ibsim'
    max_clients = 10

    def check_signal(self, name, signum):
        if signum in STOPPING and name.startswith('shard'):
            raise Refused(f'{signal.Signals(signum).name} to {name}: ibsim would not survive it, '
                          'since it waits for ever for a stopped client whose queue is full')

    # -- its process

    def record(self, lab, net, options):
        return argv(net, lab.data['net']), {'answers': lab.path('log', 'ibsim.answers'),
                                            'console': lab.path('run', 'ibsim.console')}

    def is_record(self, record):
        return super().is_record(record) and isinstance(record.get('answers'), str)

    def start(self, record, env):
        self.clean(record)
        os.mkfifo(record['console'], 0o600)
        console = os.open(record['console'], os.O_RDWR | os.O_CLOEXEC)
        try:
            return procs.start(record['argv'], env, record['cwd'], record['log'], stdin=console,
                               out_log=record['answers'])
        finally:
            os.close(console)

    def is_ready(self, record):
        with open(record['answers'], 'rb') as f:
            return READY in f.read()

    def free_slot(self, lab):
        """A killed client keeps its slot until a write to it fails: frees those of the dead."""
        found = re.findall(r'^Client (\d+): pid (\d+) ', _command(lab, 'Attached'), re.M)
        taken = 0
        for slot, pid in found:
            if procs.identity(int(pid)) is None:
                _command(lab, f'X {slot}')
            else:
                taken += 1
        if taken >= self.max_clients:
            raise LabError(f'all {self.max_clients} client slots of ibsim are taken')

    # -- the fabric

    def set_cables(self, lab, ends, up, traps):
        verb = 'ReLink' if up else 'Unlink'
        lines = [f'{verb} {_end(node, port)}' for node, port in ends]
        if not traps:  # they are lost on their way into the shards' ports
            hosts = [d['node'] for d in lab.daemons.values() if d['node']]
            lines = [f'Error "{h}"[1] 100' for h in hosts] + lines + \
                    [f'Error "{h}"[1] 0' for h in hosts]
        _change(lab, lines)

    def set_loss(self, lab, ends, percent):
        if percent != int(percent):
            raise Refused(f'{percent:g}: ibsim takes whole percents')
        _change(lab, [f'Error {_end(node, port)} {percent:g}' for node, port in ends])


# -- the console ---------------------------------------------------------------------------


def _command(lab, text):
    """Sends one console command; its answer."""
    daemon = lab.daemons[Ibsim.name]
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


def _change(lab, lines):
    """Commands that answer nothing when they worked, all in one turn of the simulator, which it
    takes from a file."""
    name = 'commands'
    with open(os.path.join(lab.daemons[Ibsim.name]['cwd'], name), 'w', encoding='ascii') as f:
        f.write('\n'.join(lines) + '\n')
    answer = _command(lab, f'!{name}')
    errors = [s[1:].strip() for s in answer.splitlines() if s.startswith('#') or 'unknown' in s]
    if errors:
        raise LabError(f'ibsim: {errors[0]}')
