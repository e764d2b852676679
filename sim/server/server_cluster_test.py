#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""heddle-sim and real clients: server_cluster_test.py HEDDLE_SIM LIB[:LIB] [TEST ...].

OpenSM and infiniband-diags over both preloads, by local sockets and by UDP, in crowds; clients that
are stopped, killed, that flood; datagrams that make no sense. The second
argument becomes LD_PRELOAD."""

import contextlib
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SKIPPED = 77
FABRIC, HOSTS, SWITCHES = "pgft:2:4,4:1,2:1,1", 16, 6
STOCK = "/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so"
TOOLS = ["opensm", "smpquery", "ibnetdiscover", "saquery"]
PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"
MAGIC = 0xdeadbeef
CONNECT, DISCONNECT, GET_PORT, GET_NODE_INFO, SET_ISSM = 1, 2, 3, 7, 9
CTL, PACKET = struct.Struct("=IIII64s"), struct.Struct("=IIIIIxxxxQ256s")
TIMED_OUT = 110
SM_INFO, UNSUPPORTED = 0x20, 0x0c
SEED = int(os.environ.get("HEDDLE_SEED", "20261201"))


def check(what: str, is_good: bool, detail: object = "") -> None:
    print(("ok   " if is_good else "FAIL ") + what, detail if not is_good else "", flush=True)
    if not is_good:
        sys.exit(1)


def wait_for(condition, seconds: float, what: str) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            check(f"within {seconds} s: {what}", False)
        time.sleep(0.02)


class Simulator:
    def __init__(self, program: str, folder: Path, name: str, *options: str) -> None:
        self.name, self.folder = name, folder
        self.console_path = str(folder / f"{name}.console")
        self.log = folder / f"{name}.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [program, "--name", name, "--console", self.console_path, *options, FABRIC],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_for(lambda: "ready" in self.log.read_text(), 20, "heddle-sim is ready")

    def command(self, line: str) -> list[str]:
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(10)
            s.connect(self.console_path)
            s.sendall(line.encode() + b"\n")
            text = b""
            while not re.search(rb"^(ok|error: .*)\n$", text, re.M):
                piece = s.recv(65536)
                if not piece:
                    check(f"the console answers {line!r}", False, text)
                text += piece
        return text.decode().splitlines()

    def clients(self) -> dict[int, dict[str, str]]:
        lines = [dict(re.findall(r"(\w+)=(\S+)", line)) for line in self.command("clients")]
        return {int(f["slot"]): f for f in lines if "slot" in f}

    def totals(self) -> dict[str, str]:
        return dict(re.findall(r"(\w+)=(\d+)", self.command("clients")[-2]))

    def stop(self) -> int:
        self.process.terminate()
        return self.process.wait(20)


class Raw:
    """A client of nothing but the protocol."""
    number = 0

    def __init__(self, name: str, node: str, zero: bool = True, pid: int = 0) -> None:
        Raw.number += 1
        self.end = b"\0" if zero else b""
        self.base, self.id = name, pid or os.getpid() + (Raw.number << 22) % (1 << 31)
        self.ctl, self.data = self.bound("ctl"), self.bound("in")
        self.ctl.connect(self.address("ctl"))
        self.slot = 0
        self.type, answer = self.ask(CONNECT, struct.pack("=III32s", self.id, 0, 0, node.encode()))
        if self.type == CONNECT:
            self.slot = struct.unpack_from("=I", answer)[0]
            self.data.connect(self.address(f"out{self.slot}"))

    def address(self, word: str) -> bytes:
        return b"\0" + f"{self.base}:{word}".encode() + self.end

    def bound(self, word: str) -> socket.socket:
        s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        s.settimeout(3)
        s.bind(self.address(f"{word}{self.id}"))
        return s

    def ask(self, kind: int, data: bytes = b"", slot: int | None = None) -> tuple[int, bytes]:
        self.ctl.send(CTL.pack(MAGIC, self.slot if slot is None else slot, kind, len(data), data))
        answer = CTL.unpack(self.ctl.recv(200))
        return answer[2], answer[4]

    def packet(self, tid: int, path: tuple[int, ...] = (), attribute: int = 0x11) -> bytes:
        mad = bytearray(256)
        struct.pack_into("!BBBBHBBQHHI", mad, 0, 1, 0x81, 1, 1, 0, 0, len(path), tid, attribute, 0, 0)
        struct.pack_into("!HH", mad, 32, 0xffff, 0xffff)
        mad[129:129 + len(path)] = bytes(path)
        return PACKET.pack(0xffff, 0xffff, 0, 0, 0, int.from_bytes((256).to_bytes(8, "big"), "little"),
                           bytes(mad))

    def receive(self) -> tuple[int, bytes]:
        fields = PACKET.unpack(self.data.recv(400))
        return socket.ntohl(fields[4]), fields[6]

    def smp(self, tid: int, *path: int) -> tuple[int, bytes]:
        self.data.send(self.packet(tid, path))
        return self.receive()

    def close(self, tell: bool = True) -> None:
        if tell:
            self.ask(DISCONNECT)
        self.ctl.close()
        self.data.close()


class Lab:
    def __init__(self, program: str, preload: str, folder: Path) -> None:
        self.program, self.preload, self.folder = program, preload, folder
        self.started: list[subprocess.Popen] = []
        self.count = 0

    @contextlib.contextmanager
    def simulator(self, *options: str):
        self.count += 1
        s = Simulator(self.program, self.folder, f"servertest{os.getpid()}-{self.count}", *options)
        try:
            yield s
        finally:
            if s.process.poll() is None:
                s.process.kill()
            s.process.wait()

    def environment(self, s: Simulator, host: str, lib: str, **more: str) -> dict[str, str]:
        env = {k: v for k, v in os.environ.items() if not k.startswith(("IBSIM_", "SIM_"))}
        return env | {"PATH": PATH, "IBSIM_SOCKNAME": s.name, "SIM_HOST": host, "LD_PRELOAD": lib,
                      "OSM_TMP_DIR": str(self.folder), "OSM_CACHE_DIR": str(self.folder)} | more

    def run(self, s: Simulator, host: str, lib: str, *command: str, seconds: float = 60,
            **more: str) -> subprocess.CompletedProcess:
        return subprocess.run(command, cwd=self.folder, env=self.environment(s, host, lib, **more),
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=seconds, check=False)

    def start(self, s: Simulator, host: str, lib: str, *command: str) -> subprocess.Popen:
        p = subprocess.Popen(command, cwd=self.folder, env=self.environment(s, host, lib),
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.started.append(p)
        return p

    def close(self) -> None:
        for p in self.started:
            if p.poll() is None:
                p.send_signal(signal.SIGCONT)
                p.kill()
            p.wait()


def libraries(lab: Lab) -> dict[str, str]:
    stock = {"libumad2sim": STOCK} if Path(STOCK).exists() and ":" not in lab.preload else {}
    return {"libheddle-umad": lab.preload} | stock


def test_tools(lab: Lab) -> None:
    for label, lib in libraries(lab).items():
        with lab.simulator("--udp", str(free_udp_port())) as s:
            out = lab.run(s, "h00001", lib, "ibnetdiscover").stdout
            nodes = len(re.findall(r"^(?:Switch|Ca)\s", out, re.M))
            check(f"{label}: ibnetdiscover sees every node", nodes == HOSTS + SWITCHES, out)
            log = lab.folder / f"osm-{label}.log"
            done = lab.run(s, "h00001", lib, "opensm", "-o", "-f", str(log))
            text = log.read_text()
            check(f"{label}: opensm -o brings the subnet up", "SUBNET UP" in text,
                  done.stdout + text)
            out = lab.run(s, "h00007", lib, "smpquery", "nodedesc", "1")
            check(f"{label}: smpquery by LID", out.returncode == 0 and "....h" in out.stdout or
                  "....s" in out.stdout, out.stdout + out.stderr)
            wait_for(lambda: not s.clients(), 3, "all slots are free")
            check("SIGTERM ends it with status 0", s.stop() == 0)


def free_udp_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("127.0.0.1", 0))
        return min(s.getsockname()[1], 60000)


def test_udp(lab: Lab) -> None:
    port = free_udp_port()
    for label, lib in libraries(lab).items():
        with lab.simulator("--udp", str(port)) as s:
            remote = {"IBSIM_SERVER_NAME": "127.0.0.1", "IBSIM_SERVER_PORT": str(port)}
            out = lab.run(s, "h00001", lib, "ibnetdiscover", **remote).stdout
            nodes = len(re.findall(r"^(?:Switch|Ca)\s", out, re.M))
            check(f"{label}: ibnetdiscover by UDP", nodes == HOSTS + SWITCHES, out)
            wait_for(lambda: not s.clients(), 3, "all slots are free")


def test_issm(lab: Lab) -> None:
    """IsSM of a killed manager goes, and another one may take it."""
    with lab.simulator() as s:
        for label, lib in libraries(lab).items():
            holders = lambda: [f for f in s.clients().values() if f["sm"] == "yes"]
            sm = lab.start(s, "h00002", lib, "opensm", "-f", str(lab.folder / "osm-kill.log"))
            wait_for(lambda: len(holders()) == 1, 20, f"{label}: OpenSM holds IsSM")
            sm.kill()
            sm.wait()
            wait_for(lambda: not s.clients(), 5, f"{label}: the slot of a killed OpenSM is free")
            check(f"{label}: a killed OpenSM leaves no slot and no IsSM", not holders())
        a, b = Raw(s.name, "h00003"), Raw(s.name, "h00003")
        check("IsSM has one holder",
              a.ask(SET_ISSM, struct.pack("=i", 1))[0] == SET_ISSM and
              b.ask(SET_ISSM, struct.pack("=i", 1))[0] == 0)
        check("who lets go of it leaves it to others",
              a.ask(SET_ISSM, struct.pack("=i", 0))[0] == SET_ISSM and
              b.ask(SET_ISSM, struct.pack("=i", 1))[0] == SET_ISSM)
        b.close(tell=False)
        check("a holder that ended is no holder",
              a.ask(SET_ISSM, struct.pack("=i", 1))[0] == SET_ISSM)
        asker = Raw(s.name, "h00003")
        a.close(tell=False)
        asker.data.send(asker.packet(1, attribute=SM_INFO))
        status, mad = asker.receive()
        check("that a manager has just ended is answered at once", status == 0 and
              struct.unpack_from("!H", mad, 4)[0] & 0x7fff == UNSUPPORTED, (status, mad[:24]))
        asker.close()


def test_slots(lab: Lab) -> None:
    with lab.simulator("--clients", "1") as s:
        Raw(s.name, "h00001").close(tell=False)
        again = Raw(s.name, "h00001")
        check("the slot of one that has just ended is free", again.type == CONNECT)
        refused = [Raw(s.name, "h00002").type for _ in range(500)]
        check("500 are refused", not any(refused))
        lines = s.log.read_text().count("client_refused")
        check("not each of them is a line of the log", 1 <= lines <= 100, lines)
        wrong = lab.run(s, "h00002", lab.preload, "smpquery", "nodeinfo", "-D", "0")
        lines = [x for x in wrong.stderr.splitlines() if x.startswith("heddle-umad:")]
        check("a refused program says so in one line", wrong.returncode and len(lines) == 1 and
              '"h00002"' in lines[0], wrong.stderr)


def test_crowd(lab: Lab) -> None:
    """64 programs at once, the half of them by each kind of name."""
    with lab.simulator() as s:
        raw = [Raw(s.name, f"h{i % HOSTS + 1:05}", zero=i % 2 == 0) for i in range(64)]
        for tid, r in enumerate(raw):
            r.data.send(r.packet(tid, (1,)))
        good = [r.receive() for r in raw]
        check("64 raw clients get an answer each", all(
            status == 0 and mad[3] == 0x81 and
            struct.unpack_from("!Q", mad, 8)[0] == r.slot << 48 | tid
            for tid, (r, (status, mad)) in enumerate(zip(raw, good))))
        check("64 are listed", len(s.clients()) == 64)
        procs = [lab.start(s, f"h{i % HOSTS + 1:05}", lab.preload, "ibnetdiscover")
                 for i in range(48)]
        check("48 more programs end well", all(p.wait(60) == 0 for p in procs))
        for r in raw:
            r.close()
        wait_for(lambda: not s.clients(), 3, "all slots are free")


def test_several_ports(lab: Lab) -> None:
    net = lab.folder / "two.net"
    net.write_text('Switch 4 "S-0000000000000100" # "leaf"\n'
                   '[1] "H-0000000000000200"[1]\n[2] "H-0000000000000200"[2]\n\n'
                   'Ca 2 "H-0000000000000200" # "two"\n'
                   '[1] "S-0000000000000100"[1]\n[2] "S-0000000000000100"[2]\n')
    global FABRIC
    before, FABRIC = FABRIC, str(net)
    try:
        with lab.simulator() as s:
            out = lab.run(s, "", lab.preload, "smpquery", "-C", "b", "-P", "2", "-D", "nodeinfo",
                          "0", HEDDLE_UMAD_PORTS="a=two:1,b=two:2")
            check("the second port of a CA", "LocalPort:.......................2" in out.stdout,
                  out.stdout + out.stderr)
    finally:
        FABRIC = before


def test_stopped(lab: Lab) -> None:
    with lab.simulator("--queue", "256") as s:
        stopped, other = Raw(s.name, "h00001"), Raw(s.name, "h00002")
        stopped.data.setblocking(False)
        sent = 0
        for tid in range(20000):
            with contextlib.suppress(BlockingIOError):
                stopped.data.send(stopped.packet(tid))
                sent += 1
            if tid % 500 == 0 and other.smp(tid, 1)[0] != 0:
                check("the other gets its answers meanwhile", False, tid)
        wait_for(lambda: int(s.clients()[stopped.slot]["received"]) == sent, 10, "all are read")
        mine = s.clients()[stopped.slot]
        check("what a client does not read is bounded and counted",
              mine["queued"] == "256" and int(mine["dropped"]) > 0 and
              int(mine["sent"]) + int(mine["dropped"]) + 256 == sent, mine)
        check("the other lost nothing", s.clients()[other.slot]["dropped"] == "0")
        got = 0
        with contextlib.suppress(BlockingIOError):
            while True:
                stopped.data.recv(400)
                got += 1
                if got % 64 == 0:
                    time.sleep(0.005)
        check("what waited arrives when it reads again",
              got == int(mine["sent"]) + 256, (got, mine))
        stopped.close()
        programs = [lab.start(s, "h00003", lib, "opensm", "-f", str(lab.folder / "osm-stop.log"))
                    for lib in libraries(lab).values()]
        wait_for(lambda: len(s.clients()) == 1 + len(programs), 20, "OpenSM attaches")
        for p in programs:
            p.send_signal(signal.SIGSTOP)
        out = lab.run(s, "h00004", lab.preload, "ibnetdiscover")
        check("a stopped OpenSM stops nobody", out.returncode == 0, out.stderr)
        for p in programs:
            p.kill()
        wait_for(lambda: len(s.clients()) == 1, 5, "its slot is free after SIGKILL")
        other.close()


def test_flood(lab: Lab) -> None:
    """One sends as fast as it can and never reads."""
    with lab.simulator() as s:
        p = lab.start(s, "", "", sys.executable, __file__, "--flood", s.name)
        wait_for(lambda: any(int(f["received"]) > 50000 for f in s.clients().values()) and
                 int(s.totals()["requests_ignored"]) > 0, 20, "it floods")
        for lib in libraries(lab).values():
            out = lab.run(s, "h00004", lib, "ibnetdiscover")
            nodes = len(re.findall(r"^(?:Switch|Ca)\s", out.stdout, re.M))
            check("beside a flood ibnetdiscover sees every node", nodes == HOSTS + SWITCHES,
                  out.stderr)
        p.kill()
        p.wait()
        wait_for(lambda: not s.clients(), 5, "the flood's slot is free")
        check("no answer to a request was lost", s.totals()["answers_lost"] == "0", s.totals())


def test_hostile(lab: Lab) -> None:
    rng = random.Random(SEED)
    print(f"     seed {SEED} (HEDDLE_SEED)")
    with lab.simulator() as s:
        victim = Raw(s.name, "h00001")
        stranger = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        nameless = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        stranger.bind(b"\0" + os.urandom(8).hex().encode())
        stranger.settimeout(3)
        before = s.clients()[victim.slot]
        try:
            stranger.sendto(b"x" * 288, victim.address(f"out{victim.slot}"))
            check("a stranger cannot send as a client", False)
        except PermissionError:
            check("a stranger cannot send as a client", True)
        wrong = []
        for _ in range(3000):
            kind = rng.choice([0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, rng.getrandbits(32)])
            magic = rng.choice([MAGIC, MAGIC, rng.getrandbits(32)])
            slot = rng.choice([victim.slot, rng.randrange(200), rng.getrandbits(32)])
            data = CTL.pack(magic, slot, kind, rng.getrandbits(32), rng.randbytes(64))
            if rng.random() < 0.3:
                data = rng.randbytes(rng.choice([0, 1, 79, 81, 1000, 30000]))
            stranger.settimeout(3)
            rng.choice([stranger, nameless]).sendto(data, victim.address("ctl"))
            stranger.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    answer = CTL.unpack(stranger.recv(200))
                    # A slot that nobody has may be given back.
                    if answer[2] and (answer[2] != DISCONNECT or answer[1] == victim.slot):
                        wrong.append(answer)
        check("a stranger's requests are refused", not wrong, wrong[:3])
        for i in range(500):
            victim.data.send(rng.randbytes(rng.choice([0, 1, 287, 288, 289, 4000])))
        wait_for(lambda: int(s.clients()[victim.slot]["received"]) +
                 int(s.clients()[victim.slot]["malformed"]) >= 500, 5, "all are read")
        victim.data.setblocking(False)
        time.sleep(0.1)
        with contextlib.suppress(BlockingIOError):
            while True:
                victim.data.recv(400)
        victim.data.settimeout(3)
        after = s.clients()[victim.slot]
        check("it stays attached", after["pid"] == before["pid"] and after["sm"] == "no")
        check("it still gets answers", victim.smp(1, 1)[0] == 0)
        check("a path to nowhere comes back as timed out", victim.smp(2, 9)[0] == TIMED_OUT)
        totals = s.totals()
        check("requests that make no sense are counted", int(totals["requests_ignored"]) > 0 and
              int(totals["requests_refused"]) > 0, totals)
        again = Raw(s.name, "nobody-has-this-name")
        check("an unknown node is refused", again.type == 0)
        again.close(tell=False)
        victim.close()


def test_console(lab: Lab) -> None:
    with lab.simulator("--clients", "3") as s:
        check("an unknown command", s.command("bogus")[-1].startswith("error: "))
        check("a slot that nobody has", s.command("drop 1")[-1].startswith("error: "))
        r = [Raw(s.name, "h00001") for _ in range(4)]
        check("slots are as many as --clients", [x.type for x in r] == [1, 1, 1, 0])
        check("drop", s.command("drop 1") == ["ok"] and sorted(s.clients()) == [0, 2])
        check("the slot is given away again", Raw(s.name, "h00001").slot == 1)
        with socket.socket(socket.AF_UNIX) as slow, socket.socket(socket.AF_UNIX) as long:
            for x in (slow, long):
                x.settimeout(1)
                x.connect(s.console_path)
            with contextlib.suppress(TimeoutError):
                slow.sendall(b"help\n" * 500000)
            check("who does not read holds up nobody", s.command("clients")[-1] == "ok")
            long.sendall(b"x" * 20000 + b"\nclients\n")
            text = b""
            while not text.endswith(b"ok\n"):
                text += long.recv(65536)
            check("a line without end is refused", text.startswith(b"error: "), text[:200])
        check("quit", s.command("quit") == ["ok"] and s.process.wait(10) == 0)
        check("its socket is gone", not Path(s.console_path).exists())


def test_overload(lab: Lab) -> None:
    """More is due than one processor can do: the simulator lags, and still answers and ends."""
    with lab.simulator() as s:
        for _ in range(32):
            s.command("ping start h00001 h00016 rate=1000000")
        for _ in range(5):
            check("the console answers", s.command("clients")[-1] == "ok")
        check("a client attaches", Raw(s.name, "h00001").type == CONNECT)
        before = int(re.search(r"sent=(\d+)", s.command("ping status 1")[0])[1])
        after = int(re.search(r"sent=(\d+)", s.command("ping status 1")[0])[1])
        check("time goes on", after > before, (before, after))
        check("SIGTERM ends it", s.stop() == 0)


def test_start(lab: Lab) -> None:
    def run(*words: str, **env: str) -> subprocess.CompletedProcess:
        return subprocess.run([lab.program, *words], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=20, check=False,
                              env=os.environ | env)
    with lab.simulator() as s:
        out = run("--name", s.name, FABRIC)
        check("a name in use", out.returncode == 1 and out.stderr.count("\n") == 1 and
              "in use" in out.stderr, out.stderr)
    for words, status in [((), 2), (("--clients", "0", FABRIC), 2), (("/none",), 1),
                          (("pgft:9",), 1), (("--service", "soon", FABRIC), 2),
                          (("--script", "/none", FABRIC), 1),
                          (("--log", "/none/x", FABRIC), 1)]:
        out = run(*words, IBSIM_SOCKNAME=f"servertest{os.getpid()}-start")
        check(f"{words}: status {status}, one line", out.returncode == status and
              out.stderr.count("\n") == 1 and not out.stdout, (out.returncode, out.stderr))
    script = lab.folder / "script"
    script.write_text("clients\nbogus\n")
    out = run("--name", f"servertest{os.getpid()}-script", "--script", str(script), FABRIC)
    check("a wrong line of a script is named", out.returncode == 1 and "2" in out.stderr, out.stderr)
    for end in (b"clients\nquit\n", b"clients\nquit"):
        out = subprocess.run([lab.program, "--name", f"servertest{os.getpid()}-stdin",
                              "--interactive", FABRIC], input=end, stdout=subprocess.PIPE,
                             timeout=20, check=False)
        check("commands on stdin", out.returncode == 0 and b"clients=0" in out.stdout, out.stdout)


def flood(name: str) -> None:
    r = Raw(name, "h00001", pid=os.getpid())
    packet = r.packet(1, (1,))
    r.data.setblocking(False)
    while True:
        with contextlib.suppress(BlockingIOError):
            r.data.send(packet)
        r.ctl.send(CTL.pack(MAGIC, r.slot, GET_PORT, 0, b""))


def main() -> None:
    if sys.argv[1] == "--flood":
        flood(sys.argv[2])
    missing = [t for t in TOOLS if not shutil.which(t, path=PATH)]
    if missing:
        print("skipped: not installed:", *missing)
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory(prefix="server-test-") as folder:
        lab = Lab(*sys.argv[1:3], Path(folder))
        try:
            for test in [test_start, test_console, test_overload, test_slots, test_hostile,
                         test_crowd, test_several_ports, test_stopped, test_flood, test_tools,
                         test_udp, test_issm]:
                if len(sys.argv) < 4 or test.__name__ in sys.argv[3:]:
                    print(f"-- {test.__name__}", flush=True)
                    test(lab)
        finally:
            lab.close()


if __name__ == "__main__":
    main()
