# SPDX-License-Identifier: BSD-2-Clause
"""heddle-sim: its command line and its console (language: sim/script/script.h).

The console is a stream socket in the simulator's working directory: lines go in, each is answered
by text and a last line `ok` or `error: ...`. Lines that are sent together run at one moment.
"""
import os
import socket
import time

from heddle_lab import build, procs
from heddle_lab.errors import LabError, Refused
from heddle_lab.sims.base import Simulator

CONSOLE = 'console'
JUDGE_LOG = 'heddle-sim.judge'
READY = b'heddle-sim: ready:'
ANSWER_TIMEOUT_S = 60
MAX_LINE = 4096
TRAPS_SETTLE_S = 0.05  # a link that trained a little late has raised its trap by then


def _end(node, port):
    return f'{node.id}[{port}]'


def _word(text):
    """A word of a command line, quoted where its language wants it."""
    name, bracket, port = text.rpartition('[')
    if not (bracket and port[:-1].isdigit() and port.endswith(']')):
        name, bracket, port = text, '', ''
    if name and not any(c in ' \t"[]#' for c in name):
        return text
    return '"' + name.replace('\\', '\\\\').replace('"', '\\"') + '"' + bracket + port


def line_of(words):
    """One command from the words of a shell's command line; a single word is taken as it is."""
    return words[0] if len(words) == 1 else ' '.join(map(_word, words))


class HeddleSim(Simulator):
    name = 'heddle-sim'
    max_clients = 256
    clients_for_tools = 16
    options = {
        '--seed': {'type': int, 'metavar': 'N', 'help': 'of its random numbers'},
        '--service': {'metavar': 'TIME', 'help': 'what each node takes for an SMP, such as 10us'},
        '--train-ms': {'type': int, 'metavar': 'N', 'help': 'from cable or power to LinkUp'},
        '--hosts': {'metavar': 'SPEC', 'help': 'model the hosts\' kernels: "" or such as groups=2'},
        '--sim-log': {'action': 'store_const', 'const': True,
                      'help': f'log each Set in DIR/log/{JUDGE_LOG}'},
        '--sim-script': {'metavar': 'FILE', 'help': 'commands with times, from the start on'},
    }

    # -- its process

    def record(self, lab, net, options):
        argv = [build.program(lab.data['build'], self.name), lab.data['net'],
                '--name', lab.data['sockname'], '--console', CONSOLE,
                '--clients', str(self.max_clients)]
        for option, value in (('--seed', options.seed), ('--train-ms', options.train_ms),
                              ('--service', options.service), ('--hosts', options.hosts)):
            if value is not None:
                argv += [option, str(value)]
        if options.sim_log:
            argv += ['--log', lab.path('log', JUDGE_LOG)]
        if options.sim_script is not None:
            argv += ['--script', os.path.abspath(options.sim_script)]
        return argv, {'console': lab.path('run', self.name, CONSOLE),
                      'train_ms': options.train_ms or 0}

    def is_record(self, record):
        return super().is_record(record) and isinstance(record.get('train_ms'), int)

    def start(self, record, env):
        self.clean(record)
        return super().start(record, env)

    def is_ready(self, record):
        with open(record['log'], 'rb') as f:
            f.seek(record['log_from'])
            return READY in f.read()

    # -- the fabric

    def set_cables(self, lab, ends, up, traps):
        lines = [f'link {_end(node, port)} {"up" if up else "down"}' for node, port in ends]
        if traps:
            self._change(lab, lines)
            return
        try:
            self._change(lab, ['traps off'] + lines)
            if up:
                time.sleep(lab.daemons[self.name]['train_ms'] / 1000 + TRAPS_SETTLE_S)
        finally:
            self._change(lab, ['traps on'])

    def set_loss(self, lab, ends, percent):
        loss = f' loss={percent:g}%' if percent else ''
        self._change(lab, [f'disturb {_end(node, port)}{loss}' for node, port in ends])

    def console(self, lab, words):
        return self._ask(lab, [line_of(words)])[0]

    def _change(self, lab, lines):
        """All of them are sent; the first error is told."""
        for line, (ok, answer) in zip(lines, self._ask(lab, lines)):
            if not ok:
                raise LabError(f'{self.name}: {line}: {answer.splitlines()[-1]}')

    def _ask(self, lab, lines):
        """[(ok, answer without its last `ok`; an error's text stands in its last line)]"""
        for line in lines:
            if len(line.encode()) > MAX_LINE or any(c in line for c in '\n\r\0'):
                raise Refused(f'a command is one line of at most {MAX_LINE} bytes: '
                              f'{ascii(line)[:60]}')
        record = lab.daemons[self.name]
        with _connect(record) as stream:
            try:
                stream.sendall(''.join(line + '\n' for line in lines).encode())
                with stream.makefile('r', encoding='utf-8', errors='replace', newline='\n') as f:
                    return [_answer(f, record) for _ in lines]
            except TimeoutError:
                raise LabError(f'the simulator did not answer its console within '
                               f'{ANSWER_TIMEOUT_S} s; see {record["log"]}') from None
            except OSError as e:
                raise LabError(f'the simulator\'s console: {e.strerror}; see {record["log"]}') \
                    from e


def _connect(record):
    """A path of a socket is at most 107 bytes long; its directory may be deeper than that."""
    directory, name = os.path.split(record['console'])
    stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    stream.settimeout(ANSWER_TIMEOUT_S)
    try:
        fd = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            stream.connect(f'/proc/self/fd/{fd}/{name}')
        finally:
            os.close(fd)
    except OSError as e:
        stream.close()
        if not procs.alive(record['proc']):
            raise LabError(f'the simulator is gone; see {record["log"]}') from e
        raise LabError(f'the simulator\'s console, {record["console"]}: {e.strerror}') from e
    return stream


def _answer(stream, record):
    text = []
    for line in stream:
        line = line.rstrip('\n')
        if line == 'ok':
            return True, '\n'.join(text)
        if line.startswith('error: '):
            return False, '\n'.join(text + [line[len('error: '):]])
        text.append(line)
    raise LabError(f'the simulator ended in the middle of an answer; see {record["log"]}')
