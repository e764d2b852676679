# SPDX-License-Identifier: BSD-2-Clause
"""Writes the daemons' libconfig files."""
import os

from heddle_lab.errors import LabError

CLUSTER_SECRET = 'cluster'
SIGN = 'coordinator-sign'
COORDINATOR = 'coordinator-1'


class Raw(str):
    """Text that is libconfig already."""


def text_of(value):
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, bool):
        return 'true' if value else 'false'
    if isinstance(value, int):
        return str(value) if -2**31 <= value < 2**31 else f'{value}L'
    if isinstance(value, str):
        return '"' + value.replace('\\', '\\\\').replace('"', '\\"') + '"'
    if isinstance(value, dict):
        return '{ ' + ' '.join(f'{k} = {text_of(v)};' for k, v in value.items()) + ' }'
    if isinstance(value, (list, tuple)):
        return '( ' + ', '.join(text_of(v) for v in value) + ' )'
    raise TypeError(type(value))


def write(path, settings):
    with open(path, 'w', encoding='utf-8') as f:
        for name, value in settings.items():
            f.write(f'{name} = {text_of(value)};\n')
    return path


def domains_setting(choice):
    """"auto", or what the user's file says: `domains = (...);` or the bare list."""
    if choice == 'auto':
        return 'auto'
    try:
        with open(choice, encoding='utf-8') as f:
            text = f.read().strip().rstrip(';')
    except OSError as e:
        raise LabError(f'--domains {choice}: {e.strerror}', 2) from e
    name, sign, rest = text.partition('=')
    if name.strip() == 'domains' and sign:
        text = rest.strip()
    if not text.startswith('('):
        raise LabError(f'--domains {choice}: expected domains = ( {{ name=..; switches=[..]; }}, '
                       '.. );', 2)
    return Raw(text)


def _coordinators(lab, endpoint):
    return [{'name': COORDINATOR, 'endpoint': endpoint,
             'public_key': lab.path('keys', COORDINATOR + '.public'),
             'sign_public_key': lab.path('keys', SIGN + '.public')}]


def coordinator(lab, cluster, endpoint, shards, domains, log_level, extra):
    settings = {
        'cluster': cluster,
        'name': COORDINATOR,
        'key_file': lab.path('keys', COORDINATOR + '.secret'),
        'sign_key_file': lab.path('keys', SIGN + '.secret'),
        'cluster_secret_file': lab.path('keys', CLUSTER_SECRET + '.secret'),
        'store_dir': lab.path('store', COORDINATOR),
        'control_endpoint': endpoint,
        'log_level': log_level,
        'domains': domains_setting(domains),
        'shards': [{'name': s, 'public_key': lab.path('keys', s + '.public')} for s in shards],
        'operators': [{'name': 'operator', 'public_key': lab.path('keys', 'operator.public')}],
    }
    settings.update(extra)
    return write(lab.path('conf', COORDINATOR + '.conf'), settings)


def shard(lab, cluster, name, endpoint, delta, bulk, log_level, extra):
    settings = {
        'cluster': cluster,
        'name': name,
        'key_file': lab.path('keys', name + '.secret'),
        'store_dir': lab.path('store', name),
        'coordinators': _coordinators(lab, endpoint),
        'delta_endpoint': delta,
        'bulk_endpoint': bulk,
        'operators': [{'name': 'operator', 'public_key': lab.path('keys', 'operator.public')}],
        'log_level': log_level,
    }
    settings.update(extra)
    return write(lab.path('conf', name + '.conf'), settings)


def operator(lab, cluster, endpoint):
    settings = {
        'cluster': cluster,
        'name': 'operator',
        'key_file': lab.path('keys', 'operator.secret'),
        'coordinators': _coordinators(lab, endpoint),
    }
    return write(lab.path('operator.conf'), settings)


def make_directories(lab):
    for name in ('conf', 'keys', 'store', 'log', 'run'):
        os.makedirs(lab.path(name), mode=0o700, exist_ok=True)
