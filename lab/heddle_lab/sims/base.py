# SPDX-License-Identifier: BSD-2-Clause
"""What the lab asks of a simulator. Two implementations: ibsim.py, heddle_sim.py.

An implementation has no state of its own: what belongs to a running simulator is in its record in
state.json, which is described by `record` and checked by `is_record`. Whoever calls what changes
something holds the lab's lock.
"""
import os

from heddle_lab import procs
from heddle_lab.errors import LabError, Refused


class Simulator:
    name = None        # of the daemon, its log and its directory in run/
    max_clients = 0
    clients_for_tools = 2
    options = {}       # of `up`, for it alone: flag -> arguments of argparse's add_argument

    # -- what it can take

    @property
    def max_shards(self):
        return self.max_clients - self.clients_for_tools

    def check_shards(self, count):
        if count > self.max_shards:
            raise Refused(f'--shards {count}: {self.name} serves {self.max_clients} clients, of '
                          f'which {self.clients_for_tools} are kept for tools; at most '
                          f'{self.max_shards} shards')

    def check_signal(self, name, signum):
        """Refuses a signal to the daemon `name` that the simulator would not survive."""

    # -- its process

    def record(self, lab, net, options):
        """(argv, further fields of its record)."""
        raise NotImplementedError

    def is_record(self, record):
        """Whether these further fields are as `record` writes them."""
        return isinstance(record.get('console'), str)

    def start(self, record, env):
        """Its process, as procs.start gives it."""
        return procs.start(record['argv'], env, record['cwd'], record['log'])

    def is_ready(self, record):
        """Whether clients may attach."""
        raise NotImplementedError

    load_timeout_s = 120

    def free_slot(self, lab):
        """Room for one more client, or LabError."""

    def clean(self, record):
        """After its end: nothing remains that looks as if it were running."""
        if os.path.exists(record['console']):
            os.unlink(record['console'])

    # -- the fabric

    def set_cables(self, lab, ends, up, traps):
        """Plugs cables in or pulls them, all at one moment. ends: one (node, port) for each cable;
        without traps, every trap of the change is lost."""
        raise NotImplementedError

    def set_loss(self, lab, ends, percent):
        """This share of the packets that pass the ports is lost; 0 = none."""
        raise NotImplementedError

    def console(self, lab, words):
        """One command of its own language: (whether it was ok, the answer, an error's text in its
        last line)."""
        raise LabError(f'{self.name} has no commands of that kind; start the lab with: heddle lab '
                       'up FABRIC --sim heddle-sim', 2)
