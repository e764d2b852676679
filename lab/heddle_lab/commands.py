# SPDX-License-Identifier: BSD-2-Clause
"""heddle lab kill, start, link, node, loss, sim, status, down."""
import os
import signal
import subprocess

from heddle_lab import build, conf, daemons, procs, up
from heddle_lab.errors import LabError, Refused
from heddle_lab.net import read_net
from heddle_lab.state import FILE, Lab

KILL_WAIT_S = 5
STATUS_TIMEOUT_S = 30


def signal_number(text):
    """KILL, SIGKILL or 9."""
    if text.isdigit():
        try:
            return signal.Signals(int(text))
        except ValueError:
            pass
    name = text.upper()
    name = name if name.startswith('SIG') else 'SIG' + name
    if name in signal.Signals.__members__:
        return signal.Signals[name]
    raise Refused(f'{text} is no signal; give a name such as KILL or a number')


def kill(options):
    """Prints when: monotonic_ns is CLOCK_MONOTONIC just before kill(2)."""
    lab = Lab(options.dir).load()
    daemon = lab.daemon(options.name)
    signum = signal_number(options.signal)
    lab.simulator.check_signal(options.name, signum)
    now = procs.send(daemon['proc'], signum) if daemon['proc'] else None
    if now is None:
        raise LabError(f'{options.name} is not running')
    if signum == signal.SIGKILL:
        procs.wait_end(daemon['proc'], KILL_WAIT_S)
    print(f'{options.name} pid={daemon["proc"]["pid"]} signal={signum.name} monotonic_ns={now}')
    return 0


def start(options):
    lab = Lab(options.dir).load()
    with lab.locked():
        lab.load()
        daemon = lab.daemon(options.name)
        if daemon['proc'] and procs.alive(daemon['proc']):
            raise Refused(f'{options.name} is running (pid {daemon["proc"]["pid"]})')
        if options.name == lab.simulator.name:
            raise Refused('a fabric cannot be started again under its clients; use: heddle lab '
                          'down, then heddle lab up')
        if daemon['node']:
            lab.need_running()
            lab.simulator.free_slot(lab)
        daemons.launch(lab, options.name)
        try:
            daemons.wait_ready(lab, options.name)
        except LabError as e:
            raise LabError(f'{e}\n{daemons.last_lines(lab, options.name)}'.rstrip()) from e
    print(f'{options.name} pid={daemon["proc"]["pid"]}')
    return 0


# -- the fabric ----------------------------------------------------------------------------


def _cable(net, node, port):
    """The two ends of a cable, the lesser first, as state.json records it."""
    for p, peer, peer_port in net.links_of(node):
        if p == port:
            return sorted([[node.id, port], [peer.id, peer_port]])
    raise Refused(f'{node.id} ({node.description}) has no cable on port {port}')


def _number(text):
    if not text.isdigit():
        raise Refused(f'{text} is no port number')
    return int(text)


def link(options):
    lab = Lab(options.dir).load()
    net = read_net(lab.data['net'])
    with lab.locked():
        lab.load()
        lab.need_running()
        node = net.find(options.node)
        port = _number(options.port)
        cable = _cable(net, node, port)
        down = lab.data['links_down']
        if (cable in down) == (options.direction == 'down'):
            raise Refused(f'the link at {node.id} port {port} is {options.direction} already')
        blocked = [n for n, _ in cable if n in lab.data['nodes_down']]
        if options.direction == 'down':
            down.append(cable)
        else:
            down.remove(cable)
        if not blocked:
            lab.simulator.set_cables(lab, [(node, port)], options.direction == 'up',
                                     not options.no_trap)
        lab.save()
    if blocked:
        print(f'the node {blocked[0]} is down; the link follows when it is up')
    return 0


def node(options):
    lab = Lab(options.dir).load()
    net = read_net(lab.data['net'])
    with lab.locked():
        lab.load()
        lab.need_running()
        it = net.find(options.node)
        down = lab.data['nodes_down']
        if (it.id in down) == (options.direction == 'down'):
            raise Refused(f'{it.id} is {options.direction} already')
        ends = list(_free_ends(lab, net, it))
        if ends:
            lab.simulator.set_cables(lab, ends, options.direction == 'up', not options.no_trap)
        down.append(it.id) if options.direction == 'down' else down.remove(it.id)
        lab.save()
    return 0


def _free_ends(lab, net, it):
    """The ends of its cables, except those that are pulled for another reason."""
    done = set()
    for port, peer, peer_port in net.links_of(it):
        cable = _cable(net, it, port)
        other_down = peer is not it and peer.id in lab.data['nodes_down']
        if cable in lab.data['links_down'] or other_down or port in done:
            continue
        yield it, port
        if peer is it:  # a cable that begins and ends here
            done.add(peer_port)


def loss(options):
    lab = Lab(options.dir).load()
    net = read_net(lab.data['net'])
    try:
        percent = float(options.percent)
    except ValueError:
        percent = -1
    if not 0 <= percent <= 100:
        raise Refused(f'{options.percent} is no share from 0 to 100')
    with lab.locked():
        lab.load()
        lab.need_running()
        cable = _cable(net, net.find(options.node), _number(options.port))
        lab.simulator.set_loss(lab, [(net.nodes[n], p) for n, p in cable], percent)
    return 0


def sim(options):
    """One command of the simulator's own language."""
    lab = Lab(options.dir).load()
    if not options.command:
        raise Refused('no command; see what there is with: heddle lab sim help')
    with lab.locked():
        lab.load()
        lab.need_running()
        ok, answer = lab.simulator.console(lab, options.command)
    if not ok:
        *text, error = answer.split('\n')
        if text:
            print('\n'.join(text))
        raise LabError(error)
    if answer:
        print(answer)
    return 0


# -- status and down -----------------------------------------------------------------------


def status(options):
    lab = Lab(options.dir).load()
    print(f'{"simulator":<14} {lab.simulator.name}')
    for name, daemon in lab.daemons.items():
        state = procs.state_of(daemon['proc'])
        pid = daemon['proc']['pid'] if state != 'dead' else '-'
        print(f'{name:<14} {state:<8} {pid:>8}  {daemon["node"] or ""}'.rstrip())
    for cable in lab.data['links_down']:
        print('link down      ' + ' - '.join(f'{n}[{p}]' for n, p in cable))
    for node_id in lab.data['nodes_down']:
        print(f'node down      {node_id}')
    if not lab.running():
        print('the lab is down')
        return 1
    if conf.COORDINATOR not in lab.daemons:
        print('a fabric alone: no daemons of heddle')
        return 0
    argv = [build.program(lab.data['build'], 'heddle'), 'status', '--config',
            lab.path('operator.conf')]
    try:
        return subprocess.run(argv, stdin=subprocess.DEVNULL, timeout=STATUS_TIMEOUT_S,
                              check=False).returncode
    except subprocess.TimeoutExpired:
        raise LabError(f'heddle status did not end within {STATUS_TIMEOUT_S} s') from None


def _end_forgotten(lab):
    """A lab whose directory was removed under it. True if there was one."""
    forgotten = procs.stragglers(lab.dir, procs.LAB_AT)
    procs.stop(forgotten, up.STOP_GRACE_S)
    return bool(forgotten)


def down(options):
    lab = Lab(options.dir)
    if not os.path.exists(lab.path(FILE)) and _end_forgotten(lab):
        return 0
    lab.load()
    with lab.locked():
        lab.load()
        up.end_all(lab)
        left = procs.stragglers(lab.data['id'])
        if left:
            raise LabError(f'still running: pid {", ".join(str(p["pid"]) for p in left)}')
        lab.data['links_down'] = []
        lab.data['nodes_down'] = []
        for daemon in lab.daemons.values():
            daemon['proc'] = None
        lab.save()
        if lab.simulator.name in lab.daemons:
            lab.simulator.clean(lab.daemons[lab.simulator.name])
    return 0
