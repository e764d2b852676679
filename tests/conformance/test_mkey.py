# SPDX-License-Identifier: BSD-2-Clause
"""M_Keys under OpenSM (IBA 14.2.4): who may read and write at each protection level, what a
violation leaves behind, trap 256, the lease, and a manager that comes again."""
import re
import time

import pytest

import opensm
import raw
import tools
from conftest import BUILD, SEED
from simulators import HEDDLE_SIM, IBSIM, find_program

pytestmark = pytest.mark.quick
TREE = 'pgft:2:4,2:1,2:1,1'
KEY, WRONG, NONE = 0x1122334455667788, 0x8877665544332211, 0
KEYS = (('right', KEY), ('wrong', WRONG), ('no', NONE))
LEVELS = (0, 1, 2, 3)
PROTECTED_READS = 2  # from this level on
VIOLATIONS = slice(88, 92)  # hexadecimal digits of PortInfo: bytes 44 and 45
LEASE_S, PATIENCE_S = 2, 30
STATE, PHYS_STATE, REREGISTER = 32, 33, 51  # bytes of PortInfo


class Subnet:
    """heddle-sim (or ibsim) with OpenSM as its manager, and MADs sent by hand."""

    def __init__(self, sim, fabric, level, **more):
        self.sim, self.fabric = sim, fabric
        self.settings = {'m_key': f'{KEY:#x}', 'm_key_protection_level': level, **more}
        self.manager = opensm.OpenSM(sim, fabric.manager, self.settings)
        self.manager.wait_up()
        recorder = tools.Recorder(sim, fabric, SEED)
        recorder.read_lids()
        self.routes = recorder.routes
        host = next(n.id for n in fabric.net.hosts if n.id not in (fabric.manager, fabric.client))
        leaf = fabric.net.nodes[host].cables[1][0]
        self.lids = {'host': recorder.lid(host), 'switch': recorder.lid(leaf)}
        # name -> (how to get there, PortInfo's modifier)
        self.ports = {
            'host by directed route': (self.route(host), 1),
            'host by LID': (recorder.lid(host), 1),
            'switch port 0': (self.route(leaf), 0),
            'switch port 0 by LID': (recorder.lid(leaf), 0),
            'external switch port': (self.route(leaf), fabric.net.nodes[host].cables[1][1]),
        }

    def route(self, node_id):
        return ','.join(map(str, self.routes[node_id]))

    def send(self, method, target, attribute, modifier, key, data=''):
        """(status, data) or None: silence."""
        kind = raw.DIRECTED if ',' in str(target) else raw.SMP
        done = self.sim.run(self.fabric.client, raw.client(BUILD), '-t', '150', text=(
            f'{method} {kind} {target} {attribute} {modifier} {key} {data}'.rstrip() + '\n'))
        assert done.returncode == 0, done.stderr
        word, *fields = done.stdout.split()
        return None if word == 'silent' else (int(fields[0], 16), fields[3])

    def port_info(self, port, key=KEY):
        target, number = self.ports[port]
        return self.send('get', target, raw.PORT_INFO, number, key)

    def set_port_info(self, port, key):
        """A Set that changes nothing."""
        target, number = self.ports[port]
        _, data = self.port_info(port)
        data = bytearray.fromhex(data)
        data[STATE] &= 0xf0
        data[PHYS_STATE] &= 0x0f
        data[REREGISTER] &= 0x7f
        return self.send('set', target, raw.PORT_INFO, number, key, data.hex())

    def violations(self, port):
        """M_KeyViolations of the port that holds the key: of a switch, port 0."""
        target, _ = self.ports[port]
        number = 0 if 'switch' in port else 1
        return int(self.send('get', target, raw.PORT_INFO, number, KEY)[1][VIOLATIONS], 16)

    def trap(self, port):
        """How OpenSM tells of trap 256 from the node of a port."""
        lid = self.lids['switch' if 'switch' in port else 'host']
        return re.compile(rf'num:256 \(Bad M_Key\) .* from LID:{lid}\b')

    def traps(self, port):
        return len(self.trap(port).findall(self.manager.text()))


@pytest.fixture
def subnet(make_fabric, start):
    def make(level, kind=HEDDLE_SIM, **more):
        fabric = make_fabric(TREE)
        return Subnet(start(kind, fabric), fabric, level, **more)
    return make


def behaviour(s, level):
    """What is not as it must be: (port, request, key, what happened)."""
    wrong = []
    for port, (target, number) in s.ports.items():
        for name, key in KEYS:
            reads = key == KEY or level < PROTECTED_READS
            before = s.violations(port)
            for what, answer, allowed in (
                    ('Get(NodeInfo)', s.send('get', target, raw.NODE_INFO, 0, key), reads),
                    ('Get(PortInfo)', s.port_info(port, key), reads),
                    ('Set(PortInfo)', s.set_port_info(port, key), key == KEY)):
                if (answer is not None and answer[0] == 0) != allowed:
                    wrong.append((port, what, name, answer))
                if what == 'Get(PortInfo)' and answer:
                    shown = answer[1][:16] == f'{KEY:016x}'
                    # an external port of a switch has no key of its own to show
                    may = (level == 0 or key == KEY) and port != 'external switch port'
                    if shown != may:
                        wrong.append((port, 'the key shown', name, answer[1][:16]))
            refused = 0 if key == KEY else 1 if reads else 3
            if s.violations(port) - before != refused:
                wrong.append((port, 'violations', name, s.violations(port) - before))
    return wrong


@pytest.mark.parametrize('level', LEVELS)
def test_protection_levels(level, subnet):
    s = subnet(level)
    assert behaviour(s, level) == []
    assert s.manager.child.poll() is None


def test_ibsim_has_no_teeth(subnet):
    """That the checks can fail."""
    assert behaviour(subnet(2, kind=IBSIM), 2) != []


@pytest.mark.parametrize('level', LEVELS)
def test_smpquery(level, subnet):
    s = subnet(level)
    for target, number in s.ports.values():
        way = ('-D',) if ',' in str(target) else ()
        for name, key in KEYS:
            more = ('-y', f'{key:#x}') if key else ()
            done = s.sim.run(s.fabric.client, find_program('smpquery'), '-t', '100', *more, *way,
                             'portinfo', str(target), str(number))
            answered = done.returncode == 0 and 'LinkState' in done.stdout
            assert answered == (key == KEY or level < PROTECTED_READS), \
                f'{name} key, {target} {number}: {done.stdout}{done.stderr}'


@pytest.mark.parametrize('level', (0, 2))
@pytest.mark.parametrize('port', ('host by directed route', 'host by LID', 'switch port 0',
                                  'external switch port'))
def test_trap_256(port, level, subnet):
    s = subnet(level)
    assert s.port_info(port) is not None and s.traps(port) == 0
    assert s.set_port_info(port, WRONG) is None
    deadline = time.monotonic() + PATIENCE_S
    while s.traps(port) == 0 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert s.traps(port) > 0


def test_lease(subnet):
    """A violation starts it, the right key ends it, its end opens reads (not writes)."""
    s = subnet(2, m_key_lease_period=LEASE_S)
    s.manager.stop()  # it would answer trap 256 with the key
    for port in ('host by directed route', 'switch port 0'):
        assert s.set_port_info(port, WRONG) is None
        assert s.port_info(port, KEY) is not None
        time.sleep(LEASE_S + 1)
        assert s.port_info(port, NONE) is None, 'the right key had not ended the lease'
        # that Get was a violation itself: the lease runs
        deadline = time.monotonic() + PATIENCE_S
        while (answer := s.port_info(port, NONE)) is None and time.monotonic() < deadline:
            time.sleep(0.2)
        assert answer is not None and answer[1][:16] == f'{KEY:016x}'
        assert s.set_port_info(port, WRONG) is None
        assert s.port_info(port, KEY)[0] == 0


@pytest.mark.parametrize('level', LEVELS)
def test_the_manager_comes_again(level, subnet):
    """With the key it takes its ports over; another one without it must not."""
    s = subnet(level)
    s.manager.stop()
    again = opensm.OpenSM(s.sim, s.fabric.manager, s.settings, name='again')
    again.wait_up()
    again.stop()
    assert s.port_info('host by LID')[1][:16] == f'{KEY:016x}'


def test_real_fabric(make_fabric, start):
    """OpenSM with keys on a fabric of 144 hosts: every port of it, by the right and by no key."""
    fabric = make_fabric('small-qdr-144')
    s = Subnet(start(HEDDLE_SIM, fabric), fabric, 2)
    wanted = list(raw.requests(fabric, s.routes, 1))
    for key, expected in ((KEY, 'answered'), (NONE, 'silent')):
        lines = [line.removesuffix(' 0') + f' {key}' for _, line in wanted
                 if f' {raw.PORT_INFO} ' in line]
        done = s.sim.run(fabric.client, raw.client(BUILD), '-w', '64', '-t', '300',
                         text='\n'.join(lines) + '\n', timeout_s=120)
        words = {line.split()[0] for line in done.stdout.splitlines()}
        assert words == {expected}, (key, words, done.stderr)
