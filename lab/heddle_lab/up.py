# SPDX-License-Identifier: BSD-2-Clause
"""heddle lab up: all of it or nothing."""
import contextlib
import os
import secrets
import shutil
import signal
import sys

from heddle_lab import build, conf, daemons, procs
from heddle_lab.errors import LabError, Refused
from heddle_lab.net import read_net
from heddle_lab.place import place
from heddle_lab.sims import SIMS
from heddle_lab.state import FILE, LOCK, Lab

OURS = ('conf', 'keys', 'store', 'log', 'run', 'fabric.net', 'operator.conf', FILE, LOCK)
STOP_GRACE_S = 5
CONVERT_TIMEOUT_S = 120


class Interrupted(LabError):
    pass


def _on_signal(signum, _frame):
    raise Interrupted(f'interrupted by {signal.Signals(signum).name}', 128 + signum)


def _claim(directory):
    """An empty directory, or that of a lab that is down, whose remains are removed."""
    lab = Lab(directory)
    if not os.path.exists(lab.path(FILE)) and procs.stragglers(lab.dir, procs.LAB_AT):
        raise Refused(f'a lab is running in {lab.dir}, though its directory was removed; end it '
                      f'with: heddle lab down --dir {lab.dir}')
    if os.path.isdir(lab.dir) and set(os.listdir(lab.dir)) - {LOCK}:
        if not os.path.exists(lab.path(FILE)):
            raise Refused(f'{lab.dir} is not empty and no lab; give another --dir')
        lab.load()
        if lab.running() or procs.stragglers(lab.data['id']):
            raise Refused(f'a lab is running in {lab.dir}; end it with: heddle lab down --dir '
                          f'{lab.dir}')
        _remove_remains(lab)
    os.makedirs(lab.dir, mode=0o700, exist_ok=True)
    return lab


def _remove_remains(lab):
    for name in OURS:
        path = lab.path(name)
        shutil.rmtree(path) if os.path.isdir(path) else os.path.lexists(path) and os.unlink(path)


def _make_keys(lab, names):
    tree = lab.data['build']
    wanted = [(conf.COORDINATOR, 'curve'), (conf.SIGN, 'sign'), (conf.CLUSTER_SECRET, 'cluster'),
              ('operator', 'curve')] + [(n, 'curve') for n in names]
    for name, kind in wanted:
        build.heddle(tree, 'keys', 'generate', name, '--kind', kind, '--dir', lab.path('keys'))


def _settings(assignments, who):
    """--set WHO.NAME=VALUE of one kind of daemon; the value is libconfig text."""
    found = {}
    for text in assignments:
        left, sign, value = text.partition('=')
        kind, dot, name = left.partition('.')
        if not sign or not dot or kind not in ('coordinator', 'shard') or not name:
            raise Refused(f'--set {text}: expected coordinator.NAME=VALUE or shard.NAME=VALUE')
        if kind == who:
            found[name] = conf.Raw(value)
    return found


def _describe_cluster(lab, net, names, options):
    """The coordinator and the shards."""
    cluster = lab.data['id']
    tree = lab.data['build']
    ports = daemons.free_ports(1 + 2 * len(names))
    endpoints = [f'tcp://127.0.0.1:{p}' for p in ports]
    file = conf.coordinator(lab, cluster, endpoints[0], names, options.domains, options.log_level,
                            _settings(options.set, 'coordinator'))
    lab.daemons[conf.COORDINATOR] = daemons.describe(
        lab, conf.COORDINATOR, [build.program(tree, 'heddle-coordinator'), '-c', file],
        ports=ports[:1])
    where = place(net, names, dict(_at(a) for a in options.at))
    for i, name in enumerate(names):
        delta, bulk = 1 + 2 * i, 2 + 2 * i
        file = conf.shard(lab, cluster, name, endpoints[0], endpoints[delta], endpoints[bulk],
                          options.log_level, _settings(options.set, 'shard'))
        lab.daemons[name] = daemons.describe(
            lab, name, [build.program(tree, 'heddle-shard'), '-c', file], host=where[name],
            ports=[ports[delta], ports[bulk]])
    conf.operator(lab, cluster, endpoints[0])


def _at(text):
    name, sign, node = text.partition('=')
    if not sign or not name or not node:
        raise Refused(f'--at {text}: expected NAME=NODE')
    return name, node


def _prepare(lab, tree, options):
    tag = 'lab-' + secrets.token_hex(4)
    lab.data = {'id': tag, 'sockname': 'heddle-' + tag, 'build': tree, 'sim': options.sim,
                'net': lab.path('fabric.net'), 'daemons': {}, 'links_down': [], 'nodes_down': []}
    conf.make_directories(lab)
    lab.save()
    build.heddle(tree, 'fabric', 'convert', options.fabric, lab.data['net'],
                 timeout_s=CONVERT_TIMEOUT_S)
    net = read_net(lab.data['net'])
    names = [f'shard-{i + 1}' for i in range(options.shards)]
    lab.daemons[lab.simulator.name] = daemons.describe_simulator(lab, net, options)
    if names:
        _make_keys(lab, names)
        _describe_cluster(lab, net, names, options)
    lab.save()
    return net


def _start_all(lab):
    shards = [n for n in lab.daemons if n.startswith('shard-')]
    together = [[lab.simulator.name], [conf.COORDINATOR] if shards else [], shards]
    for names in together:
        for name in names:
            daemons.launch(lab, name)
        for name in names:
            daemons.wait_ready(lab, name)


def end_all(lab):
    """Ends everything that carries the lab's id: clients first, the simulator last."""
    name = lab.simulator.name
    sim = lab.daemons.get(name, {}).get('proc')
    recorded = [d['proc'] for n, d in lab.daemons.items() if n != name and d['proc']]
    others = [p for p in procs.stragglers(lab.data['id']) if p != sim and p not in recorded]
    procs.stop(recorded + others, STOP_GRACE_S)
    if sim:
        procs.stop([sim], STOP_GRACE_S)
    procs.stop(procs.stragglers(lab.data['id']), STOP_GRACE_S)


def _ignore_signals():
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, signal.SIG_IGN)


def _fail(lab, error):
    _ignore_signals()
    procs.reap()
    dead = [n for n, d in lab.daemons.items() if d['proc'] and not procs.alive(d['proc'])]
    if not isinstance(error, Interrupted):
        for name in dead or list(lab.daemons):
            sys.stderr.write(daemons.last_lines(lab, name))
    end_all(lab)


def _check_sim_options(sim, options):
    for other in SIMS.values():
        for flag in other.options:
            given = getattr(options, flag[2:].replace('-', '_')) is not None
            if given and flag not in sim.options:
                raise Refused(f'{flag}: {sim.name} has nothing of the kind; use --sim {other.name}')


def _check(options):
    """What can be refused before anything of an older lab is removed."""
    if options.shards < 0:
        raise Refused(f'--shards {options.shards}: at least 0')
    sim = SIMS[options.sim]
    sim.check_shards(options.shards)
    _check_sim_options(sim, options)
    if options.shards == 0:
        for option, given in (('--at', options.at), ('--set', options.set)):
            if given:
                raise Refused(f'{option} {given[0]}: with --shards 0 there are no daemons of heddle')


def up(options):
    _check(options)
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, _on_signal)
    tree = build.find(options.build)
    build.preload(tree)
    existed = os.path.isdir(options.dir)
    lab = _claim(options.dir)
    with lab.locked():
        try:
            net = _prepare(lab, tree, options)
            _start_all(lab)
            _ignore_signals()  # it is up: what comes now must not leave it running and fail
        except BaseException as error:
            if lab.data:
                _fail(lab, error)
            if not os.path.exists(lab.path(FILE)):  # else the directory is known to be a lab's
                _remove_remains(lab)
                with contextlib.suppress(OSError):
                    existed or os.rmdir(lab.dir)
            raise
    print(f'up: {len(net.switches)} switches, {len(net.hosts)} hosts, '
          f'{options.shards} shards on {lab.simulator.name} in {lab.dir}')
    for name, daemon in lab.daemons.items():
        print(f'  {name}: pid {daemon["proc"]["pid"]}'
              + (f' on {daemon["node"]}' if daemon['node'] else ''))
    return 0
