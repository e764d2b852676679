# SPDX-License-Identifier: BSD-2-Clause
"""What works on a simulated fabric during a soak: a manager that is started again when it ends,
tools that are killed and stopped at random, a client that floods and never reads."""
import contextlib
import os
import signal
import socket
import struct
import time

import opensm
import simulators

M_KEY, M_KEY_LEASE_S = '0x5ea1', 60
OPENSM = {'m_key': M_KEY, 'm_key_protection_level': '1', 'm_key_lease_period': str(M_KEY_LEASE_S),
          'sweep_interval': '10', 'single_thread': 'FALSE', 'max_wire_smps': '4',
          'log_max_size': '8'}
MANAGER_LIVES_S = 300       # then it is killed, as it stands
MANAGER_WAIT_S = 2          # before the next one
TOOL_EVERY_S = (0.5, 2.5)   # a new one
TOOL_MOST = 6               # at once, stopped ones among them
TOOL_TIMEOUT_S = 60
KILL_SHARE, STOP_SHARE = 0.15, 0.15
STOP_S = (0.5, 8)
STRIKE_S = 0.05             # after the start, at most: it is in the midst of its work
GET, SET = 1, 2
ASKED = ((GET, 0x10), (GET, 0x11), (GET, 0x12), (GET, 0x15), (GET, 0x16), (GET, 0x20), (SET, 0x19))
FLOOD_EVERY_S, FLOOD_PACKETS, FLOOD_UNREAD_S, FLOOD_PAUSE_S = 15, 4000, 5, 0.001
TOOLS = (('smpquery', '-D', 'nodeinfo', '0'), ('smpquery', '-D', 'portinfo', '0,1'),
         ('smpquery', '-D', 'switchinfo', '0,1'),
         ('smpquery', '-t', '200', '-D', 'nodedesc', '0,1,9'),
         ('saquery', '-N'), ('saquery', '-p'), ('saquery', '-g'), ('saquery', '-S'),
         ('saquery', '-I'), ('ibnetdiscover', '-t', '200'), ('sminfo',), ('perfquery', '-x'),
         ('perfquery', '-t', '200', '3', '1'))


class Manager:
    """OpenSM at its host, with an M_Key."""

    def __init__(self, sim, host):
        self.sim, self.host, self.starts, self.died, self.process = sim, host, 0, 0, None
        self.since, self.next, self.is_killed = 0, None, False

    def start(self):
        self.starts += 1
        self.is_killed, self.next = False, None
        self.process = opensm.OpenSM(self.sim, self.host, OPENSM, f'opensm-{self.starts}')
        self.since = time.monotonic()

    def is_up(self):
        return self.process is not None and opensm.UP in self.process.text()

    def tend(self):
        now = time.monotonic()
        if self.process is None:
            if self.next is not None and now >= self.next:
                self.start()
        elif self.process.child.poll() is not None:
            self.died += not self.is_killed
            self.forget()
            self.next = now + MANAGER_WAIT_S
        elif now > self.since + MANAGER_LIVES_S and not self.is_killed:
            self.is_killed = True
            self.process.child.kill()

    def forget(self):
        """Of the old one nothing is needed any more; logs of an hour are large."""
        self.sim.children.remove(self.process.child)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.process.log)
        self.process = None

    def stop(self):
        self.next = None
        if self.process is not None:
            self.process.stop()
            self.forget()


class Tools:
    """Programs of infiniband-diags at random hosts."""

    def __init__(self, sim, hosts, rand):
        self.sim, self.hosts, self.rand = sim, hosts, rand
        self.running = []
        self.started = self.killed = self.stopped = self.hung = 0
        self.next_tool = time.monotonic() + 5

    def launch(self, *argv):
        host = self.rand.choice(self.hosts)
        child = self.sim.start(host, *argv)
        self.sim.children.remove(child)
        self.started += 1
        now, fate = time.monotonic(), self.rand.random()
        job = {'child': child, 'timeout': now + TOOL_TIMEOUT_S, 'go': None}
        if fate < KILL_SHARE + STOP_SHARE:
            time.sleep(self.rand.uniform(0, STRIKE_S))
        if fate < KILL_SHARE:
            self.killed += 1
            child.kill()
        elif fate < KILL_SHARE + STOP_SHARE:
            self.stopped += 1
            child.send_signal(signal.SIGSTOP)
            job['go'] = now + self.rand.uniform(*STOP_S)
            job['dies'] = self.rand.random() < 0.5
        self.running.append(job)

    def tend(self):
        now = time.monotonic()
        if now >= self.next_tool:
            self.next_tool = now + self.rand.uniform(*TOOL_EVERY_S)
            if len(self.running) < TOOL_MOST:
                name, *arguments = self.rand.choice(TOOLS)
                self.launch(simulators.find_program(name), *arguments)
        self.running = [job for job in self.running if self.goes_on(job, now)]

    def goes_on(self, job, now):
        child = job['child']
        if child.poll() is not None:
            return False
        if now >= job['timeout']:
            self.hung += 1
            child.kill()
        elif job['go'] and now >= job['go']:
            job['go'] = None
            child.send_signal(signal.SIGKILL if job['dies'] else signal.SIGCONT)
        return True

    def close(self):
        for job in self.running:
            job['child'].kill()
            job['child'].wait()
        self.running = []


class Flooder:
    """A client of nothing but the protocol, that asks in bursts and reads nothing for a while.

    Local sockets have names without a file; see sim/umad/wire.h for what is sent."""
    CTL, PACKET = struct.Struct('=IIII64s'), struct.Struct('=IIIIIxxxxQ256s')
    MAGIC, CONNECT, DISCONNECT = 0xdeadbeef, 1, 2
    MAX_HOPS = 5

    def __init__(self, name, hosts, rand):
        self.name, self.hosts, self.rand = name, hosts, rand
        self.ctl = self.data = None
        self.sent = self.number = 0
        self.next_flood = time.monotonic() + 10

    def address(self, word):
        return b'\0' + f'{self.name}:{word}'.encode() + b'\0'

    def bound(self, word, number):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        s.settimeout(5)
        s.bind(self.address(f'{word}{number}'))
        return s

    def open(self):
        self.number += 1
        number = os.getpid() + (self.number << 22) % (1 << 31)
        self.ctl, self.data = self.bound('ctl', number), self.bound('in', number)
        self.ctl.connect(self.address('ctl'))
        asked = struct.pack('=III32s', number, 0, 0, self.rand.choice(self.hosts).encode())
        self.ctl.send(self.CTL.pack(self.MAGIC, 0, self.CONNECT, len(asked), asked))
        answer = self.CTL.unpack(self.ctl.recv(200))
        if answer[2] != self.CONNECT:
            self.close()
            return
        self.slot = struct.unpack_from('=I', answer[4])[0]
        self.data.connect(self.address(f'out{self.slot}'))
        self.data.setblocking(False)

    def packet(self):
        """A Get, a Set of a forwarding table without the key, or bytes of no meaning, along a
        random path."""
        hops = self.rand.randrange(self.MAX_HOPS + 1)
        path = bytes([1, *(self.rand.randrange(1, 13) for _ in range(hops))])[:hops]
        mad = bytearray(256)
        method, attribute = self.rand.choice(ASKED)
        struct.pack_into('!BBBBHBBQHHI', mad, 0, 1, 0x81, 1, method, 0, 0, hops, self.sent,
                         attribute, 0, 0)
        struct.pack_into('!HH', mad, 32, 0xffff, 0xffff)
        mad[129:129 + hops] = path
        if self.rand.random() < 0.1:
            mad = bytearray(self.rand.randbytes(256))
        length = int.from_bytes((256).to_bytes(8, 'big'), 'little')
        return self.PACKET.pack(0xffff, 0xffff, 0, 0, 0, length, bytes(mad))

    def flood(self):
        packets = [self.packet() for _ in range(FLOOD_PACKETS)]
        for packet in packets:
            try:
                self.data.send(packet)
                self.sent += 1
            except BlockingIOError:
                time.sleep(FLOOD_PAUSE_S)

    def tend(self):
        now = time.monotonic()
        if now < self.next_flood:
            return
        if self.data is None:
            self.next_flood = now + FLOOD_UNREAD_S
            with contextlib.suppress(OSError):
                self.open()
                if self.data is not None:
                    self.flood()
        else:
            self.next_flood = now + FLOOD_EVERY_S
            self.close(tell=self.rand.random() < 0.5)

    def close(self, tell=False):
        """Without a word, as one that was killed, or with one."""
        if self.ctl is not None and tell:
            with contextlib.suppress(OSError):
                self.ctl.send(self.CTL.pack(self.MAGIC, self.slot, self.DISCONNECT, 0, b''))
        for s in (self.ctl, self.data):
            if s is not None:
                s.close()
        self.ctl = self.data = None
