# SPDX-License-Identifier: BSD-2-Clause
"""Finds the programs: those of the build tree that the lab belongs to."""
import os
import subprocess
import sys

from heddle_lab.errors import LabError

PRESETS = ('release', 'debug', 'asan', 'tsan')


def find(option):
    """The build tree: --build, $HEDDLE_BUILD, the tree whose lab/heddle-lab was called, or the
    first preset's tree beside the sources."""
    called = os.path.dirname(os.path.dirname(os.path.abspath(sys.argv[0])))
    source = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    if option or os.environ.get('HEDDLE_BUILD'):
        candidates = [option or os.environ['HEDDLE_BUILD']]
    else:
        candidates = [called] + [os.path.join(source, 'build', p) for p in PRESETS]
    for build in candidates:
        if os.access(os.path.join(build, 'bin', 'heddle'), os.X_OK):
            return os.path.abspath(build)
    raise LabError(f'no bin/heddle in {" or ".join(candidates)}; build with: '
                   'cmake --preset release && cmake --build --preset release', 2)


def program(build, name):
    path = os.path.join(build, 'bin', name)
    if not os.access(path, os.X_OK):
        raise LabError(f'{path} is missing; build all targets first', 2)
    return path


def preload(build):
    path = os.path.join(build, 'lib', 'libheddle-umad.so')
    if not os.path.exists(path):
        raise LabError(f'{path} is missing; build all targets first', 2)
    return path


def heddle(build, *arguments, timeout_s=120):
    """Runs the operators' command; LabError with its own line when it fails."""
    argv = [program(build, 'heddle'), *arguments]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, errors='replace',
                              stdin=subprocess.DEVNULL, timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired:
        raise LabError(f'heddle {arguments[0]} did not end within {timeout_s} s') from None
    if done.returncode != 0:
        line = (done.stderr.strip() or done.stdout.strip() or f'status {done.returncode}')
        raise LabError(line.splitlines()[-1], 2 if done.returncode == 2 else 1)
    return done.stdout
