# SPDX-License-Identifier: BSD-2-Clause
"""The simulators that a lab can run on; the rest of the lab knows only base.Simulator.

A lab's simulator is a daemon of its own name; `Lab.simulator` is the object for it.
"""
from heddle_lab.sims.heddle_sim import HeddleSim
from heddle_lab.sims.ibsim import Ibsim

SIMS = {sim.name: sim for sim in (HeddleSim(), Ibsim())}
DEFAULT = HeddleSim.name
