# SPDX-License-Identifier: BSD-2-Clause
"""OpenSM as the manager of a simulated fabric."""
import os
import re
import time

from simulators import Failed, find_program, stop

UP = 'SUBNET UP'
UP_TIMEOUT_S = 300
# What makes two runs the same: one thread, no sweep unless asked. Without force_log_flush the line
# that tells that the subnet is up stays in a buffer.
STEADY = {'single_thread': 'TRUE', 'sweep_interval': '0', 'force_log_flush': 'TRUE',
          'log_flags': '0x03', 'max_wire_smps': '8'}


class OpenSM:
    """Started at a node; options as in opensm.conf, on top of STEADY."""

    def __init__(self, sim, host, options=None, name='opensm', arguments=()):
        self.sim = sim
        self.directory = os.path.join(sim.directory, name)
        os.makedirs(self.directory)
        self.log = os.path.join(self.directory, 'opensm.log')
        conf = os.path.join(self.directory, 'opensm.conf')
        settings = {**STEADY, 'log_file': self.log, 'dump_files_dir': self.directory,
                    **(options or {})}
        with open(conf, 'w', encoding='ascii') as f:
            f.writelines(f'{key} {value}\n' for key, value in settings.items())
        self.started = time.monotonic()
        self.child = sim.start(host, find_program('opensm'), '-F', conf, *arguments,
                               output=os.path.join(self.directory, 'opensm.out'))

    def text(self):
        try:
            with open(self.log, encoding='utf-8', errors='replace') as f:
                return f.read()
        except FileNotFoundError:
            return ''

    def wait_up(self, times=1, timeout_s=UP_TIMEOUT_S):
        """Until the log says so for the nth time; the seconds since the start."""
        self.wait_for(UP, times, timeout_s)
        return time.monotonic() - self.started

    def wait_for(self, what, times=1, timeout_s=UP_TIMEOUT_S):
        deadline = time.monotonic() + timeout_s
        while self.text().count(what) < times:
            self.sim.check_alive()
            if self.child.poll() is not None:
                raise Failed(f'OpenSM ended with status {self.child.returncode}; see {self.log}')
            if time.monotonic() > deadline:
                raise Failed(f'OpenSM did not say "{what}" within {timeout_s} s; '
                             f'see {self.log}: {" | ".join(self.errors()[-3:])}')
            time.sleep(0.02)

    def engines(self):
        """The engines whose tables it set, in order."""
        return re.findall(r'(\S+) tables configured', self.text())

    def errors(self):
        return [line for line in self.text().splitlines() if ' ERR ' in line]

    def stop(self):
        stop(self.child)
