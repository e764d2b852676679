# SPDX-License-Identifier: BSD-2-Clause
"""Starts a simulator over a net file, and programs at its nodes. Nothing of `heddle lab` runs here:
what is compared must not depend on what starts it."""
import itertools
import os
import shutil
import signal
import subprocess
import time

START_TIMEOUT_S = 120
STOP_TIMEOUT_S = 20
ANSWER_TIMEOUT_S = 20
CALL_TIMEOUT_S = 120
MAX_LID = 0xbfff
PATH = '/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin'
IBSIM, HEDDLE_SIM = 'ibsim', 'heddle-sim'
_numbers = itertools.count()


class Failed(Exception):
    """Something outside the comparison went wrong: one line, and where to look."""


def find_program(name):
    program = shutil.which(name, path=PATH)
    if program is None:
        raise Failed(f'{name} is not installed')
    return program


def heddle_sim_program(build):
    return os.path.join(build, 'bin', 'heddle-sim')


def stop(child, signum=signal.SIGTERM):
    """Ends a child of ours; never for ever."""
    if child.poll() is None:
        child.send_signal(signum)
    try:
        child.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


class Simulator:
    """One running simulator. kind: IBSIM or HEDDLE_SIM; preload: the library that programs get."""

    def __init__(self, kind, fabric, directory, build, preload):
        self.kind, self.fabric, self.directory = kind, fabric, str(directory)
        self.preload = preload
        self.name = f'heddle-conformance-{os.getpid()}-{next(_numbers)}'
        self.children = []
        os.makedirs(self.directory, exist_ok=True)
        self.output = os.path.join(self.directory, f'{kind}.out')
        with open(self.output, 'wb') as out, open(f'{self.output}.err', 'wb') as err:
            # both read a console: a pipe that stays open
            self.process = subprocess.Popen(
                self._argv(build), cwd=self.directory, env=self.environment(None),
                stdin=subprocess.PIPE, stdout=out, stderr=err)
        try:
            self._wait_ready()
        except Failed:
            self.close()
            raise

    def _argv(self, build):
        if self.kind == HEDDLE_SIM:
            return [heddle_sim_program(build), '--name', self.name, '--interactive',
                    self.fabric.path]
        nodes = self.fabric.net.nodes.values()
        switches = sum(n.is_switch for n in nodes)
        ports = sum(n.num_ports + 1 for n in nodes)
        return [find_program('ibsim'), '-s', f'-N{len(nodes) + 1}', f'-S{switches + 1}',
                f'-P{ports + 1}', f'-L{MAX_LID + 1}', self.fabric.path]

    def environment(self, host):
        env = {k: v for k, v in os.environ.items()
               if not k.startswith(('IBSIM_', 'HEDDLE_UMAD', 'OSM_')) and k != 'LD_PRELOAD'}
        env.update(PATH=PATH, IBSIM_SOCKNAME=self.name, OSM_TMP_DIR=self.directory,
                   OSM_CACHE_DIR=self.directory, LC_ALL='C')
        if host is not None:
            env.update(LD_PRELOAD=self.preload, SIM_HOST=host)
        return env

    def _wait_ready(self):
        """Until its control socket is there: the same sign for both."""
        wanted = f'@{self.name}:ctl'
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            with open('/proc/net/unix', encoding='ascii', errors='replace') as f:
                if any(line.split()[-1].rstrip('@') == wanted for line in f):
                    return
            if self.process.poll() is not None:
                raise Failed(f'{self.kind} ended with status {self.process.returncode}; '
                             f'{self._last_lines()}')
            time.sleep(0.01)
        raise Failed(f'{self.kind} was not ready within {START_TIMEOUT_S} s; see {self.output}')

    def _last_lines(self):
        lines = []
        for path in (self.output, f'{self.output}.err'):
            with open(path, encoding='utf-8', errors='replace') as f:
                lines += f.read().splitlines()[-3:]
        return ' | '.join(lines)

    def ask(self, line):
        """A line for heddle-sim's console; its answer without the last line, `ok`."""
        at = os.path.getsize(self.output)
        self.process.stdin.write(line.encode() + b'\n')
        self.process.stdin.flush()
        deadline = time.monotonic() + ANSWER_TIMEOUT_S
        while time.monotonic() < deadline:
            with open(self.output, 'rb') as f:
                f.seek(at)
                *answer, last, end = (b'\n\n' + f.read()).decode('utf-8', 'replace').split('\n')
            if end == '' and last == 'ok':
                return '\n'.join(answer).strip()
            if end == '' and last.startswith('error:'):
                raise Failed(f'{line}: {last}')
            self.check_alive()
            time.sleep(0.002)
        raise Failed(f'no answer to "{line}" within {ANSWER_TIMEOUT_S} s; see {self.output}')

    def check_alive(self):
        if self.process.poll() is not None:
            raise Failed(f'{self.kind} died with status {self.process.returncode}; '
                         f'{self._last_lines()}')

    def run(self, host, *argv, timeout_s=CALL_TIMEOUT_S, text=None):
        """Runs a program at a host to its end. A tool that hangs is a result, too: status None."""
        try:
            return subprocess.run(argv, cwd=self.directory, env=self.environment(host), input=text,
                                  stdin=None if text is not None else subprocess.DEVNULL,
                                  capture_output=True, text=True, errors='replace',
                                  timeout=timeout_s, check=False)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(argv, None, '', f'no end within {timeout_s} s\n')

    def start(self, host, *argv, output=None):
        with open(output or os.devnull, 'ab') as out:
            child = subprocess.Popen(argv, cwd=self.directory, env=self.environment(host),
                                     stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        self.children.append(child)
        return child

    def close(self):
        for child in reversed(self.children):
            stop(child)
        if self.process.stdin is not None:
            try:
                self.process.stdin.close()
            except BrokenPipeError:
                pass
        stop(self.process)

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        self.close()
