# SPDX-License-Identifier: BSD-2-Clause
"""OpenSM's routing engines: their options, and what a fabric looks like after them."""
import os

from simulators import find_program

ENGINES = ('minhop', 'updn', 'dnup', 'ftree', 'dor', 'lash', 'torus-2QoS', 'sssp', 'dfsssp', 'nue',
           'file')
NEED_QOS = ('lash', 'torus-2QoS', 'dfsssp', 'nue')
NUE_VLS = '4'


def options(engine, fabric, directory, tables=None):
    """Settings for opensm.conf; tables: a file of dump_lfts, for the engine "file"."""
    settings = {'routing_engine': engine}  # where it fails OpenSM takes minhop, and says so
    if engine in NEED_QOS:
        settings['qos'] = 'TRUE'
    if engine == 'nue':
        settings['nue_max_num_vls'] = NUE_VLS
    if engine == 'file':
        settings['lfts_file'] = tables
    if engine == 'torus-2QoS':
        settings['torus_config'] = _torus_config(fabric, os.path.join(directory, 'torus.conf'))
    return settings


def is_torus(fabric):
    return fabric.name.startswith('torus:')


def _torus_config(fabric, path):
    """Where the torus begins and which way its dimensions go (man torus-2QoS)."""
    size = fabric.name.removeprefix('torus:').split(',')
    guids = {n.description: f'{n.guid:#x}' for n in fabric.net.switches}
    origin = guids['sw-0-0-0']
    with open(path, 'w', encoding='ascii') as f:
        f.write(f'torus {" ".join(size)}\n')
        for axis, at in (('x', '1-0-0'), ('y', '0-1-0'), ('z', '0-0-1')):
            f.write(f'{axis}p_link {origin} {guids["sw-" + at]}\n{axis}_dateline 0\n')
    return path


def not_active(sim, host):
    """Lines of iblinkinfo -l whose link is not ACTIVE at both ends' first: of cabled ports."""
    done = sim.run(host, find_program('iblinkinfo'), '-l')
    if done.returncode != 0 or '==>' not in done.stdout:
        return [f'iblinkinfo: {done.stderr}{done.stdout[:200]}']
    return [line for line in done.stdout.splitlines()
            if ' Active/  LinkUp)' not in line and ' Down/' not in line]
