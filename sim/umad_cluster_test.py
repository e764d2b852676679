#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""OpenSM, infiniband-diags and osmtest over the preload on stock ibsim: umad_cluster_test.py LIB[:LIB].

The argument becomes LD_PRELOAD, so it needs absolute paths."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LEAVES, SPINES, HOSTS_A_LEAF = 12, 4, 16
SWITCHES, HOSTS = LEAVES + SPINES, LEAVES * HOSTS_A_LEAF
SKIPPED = 77
TOOLS = ["ibsim", "opensm", "saquery", "ibnetdiscover", "ibtracert", "osmtest", "smpquery"]
PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"


class Fabric:
    """A running ibsim, and programs at its hosts."""

    def __init__(self, lib: str, folder: Path) -> None:
        self.lib, self.folder = lib, folder
        self.name = f"umadtest{os.getpid()}"
        net = folder / "net"
        here = Path(__file__).resolve().parent
        with net.open("w") as out:
            subprocess.run([sys.executable, str(here / "fat_tree_net.py"), str(LEAVES),
                            str(SPINES), str(HOSTS_A_LEAF)], stdout=out, check=True, timeout=20)
        self.log = (folder / "ibsim.log").open("w")
        # It reads its console: a pipe that stays open.
        self.sim = subprocess.Popen(["ibsim", "-s", str(net)], stdin=subprocess.PIPE,
                                    stdout=self.log, stderr=self.log, env=self.environment(None))
        self.wait_for(lambda: "ready" in (folder / "ibsim.log").read_text(), 10, "ibsim starts")
        self.others: list[subprocess.Popen] = []

    def environment(self, host: str | None) -> dict[str, str]:
        env = dict(os.environ, PATH=PATH, IBSIM_SOCKNAME=self.name, OSM_TMP_DIR=str(self.folder),
                   OSM_CACHE_DIR=str(self.folder))
        env.pop("IBSIM_SERVER_NAME", None)
        if host:
            env.update(LD_PRELOAD=self.lib, SIM_HOST=host)
        return env

    def run(self, host: str, *command: str, seconds: float = 30) -> subprocess.CompletedProcess:
        return subprocess.run(command, cwd=self.folder, env=self.environment(host), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=seconds)

    def start(self, host: str, *command: str, **more: str) -> subprocess.Popen:
        p = subprocess.Popen(command, cwd=self.folder, env=self.environment(host) | more,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.others.append(p)
        return p

    def wait_for(self, condition, seconds: float, what: str) -> None:
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(f"not within {seconds} s: {what}")
            time.sleep(0.05)

    def close(self) -> None:
        for p in [*self.others, self.sim]:
            if p.poll() is None:
                p.kill()
            p.wait()
        self.log.close()


def check(what: str, is_good: bool, detail: object = "") -> None:
    print(("ok   " if is_good else "FAIL ") + what, detail if not is_good else "", flush=True)
    if not is_good:
        sys.exit(1)


def guardians(f: Fabric) -> set[int]:
    """The guardians of this fabric's clients that are alive."""
    found = set()
    mine = f"IBSIM_SOCKNAME={f.name}\0".encode()
    for d in Path("/proc").iterdir():
        try:
            fields = (d / "stat").read_text() if d.name.isdigit() else ""
            ours = "(umad-guardian)" in fields and mine in (d / "environ").read_bytes()
        except OSError:
            continue
        if ours and not re.search(r"\) Z ", fields):
            found.add(int(d.name))
    return found


def test_sweep(f: Fabric) -> subprocess.Popen:
    once = f.run("host-0-0", "opensm", "-o", "-f", str(f.folder / "once.log"))
    text = (f.folder / "once.log").read_text()
    check("opensm -o brings the subnet up", "SUBNET UP" in text, once.stdout + text)
    sm = f.start("host-0-0", "opensm", "-f", str(f.folder / "osm.log"),
                 HEDDLE_MAD_LOG=str(f.folder / "mad-%p.log"))
    f.wait_for(lambda: "dump:" in f.run("host-1-1", "saquery", "-t", "300", "NR").stdout, 20,
               "OpenSM answers")
    return sm


def test_tools(f: Fabric) -> None:
    for record, count in [("NR", SWITCHES + HOSTS),
                          ("PIR", HOSTS + LEAVES * (HOSTS_A_LEAF + SPINES + 1) +
                           SPINES * (HOSTS_A_LEAF + SPINES + 1))]:
        out = f.run("host-1-1", "saquery", record)
        check(f"saquery {record}: {count} records", out.stdout.count("Record dump:") == count,
              f"{out.stdout.count('dump:')} {out.stderr}")
    out = f.run("host-1-1", "ibnetdiscover")
    nodes = len(re.findall(r"^(?:Switch|Ca)\s", out.stdout, re.M))
    check("ibnetdiscover sees every node", nodes == SWITCHES + HOSTS, f"{nodes} {out.stderr}")
    lids = [int(m) for m in re.findall(r"lid (\d+) lmc 0 \"leaf", out.stdout)]
    out = f.run("host-1-1", "ibtracert", str(lids[0]), str(lids[-1]))
    check("ibtracert", out.returncode == 0 and "To ca" in out.stdout, out.stdout + out.stderr)
    out = f.run("host-1-1", "smpquery", "nodedesc", "1")
    check("smpquery by LID", "host-0-0" in out.stdout, out.stdout + out.stderr)
    start = time.monotonic()
    out = f.run("host-1-1", "smpquery", "-t", "100", "nodedesc", "1999")
    check("a LID that nobody has times out", out.returncode != 0 and
          0.3 <= time.monotonic() - start < 3, f"{time.monotonic() - start}")


def test_osmtest(f: Fabric) -> None:
    inventory = f.folder / "inventory"
    out = f.run("host-2-2", "osmtest", "-f", "c", "-i", str(inventory), seconds=60)
    check("osmtest -f c", out.returncode == 0, out.stdout)
    count = inventory.read_text().count("DEFINE_NODE\n")
    check("its inventory lists every node", count == SWITCHES + HOSTS, count)


def test_log(f: Fabric, sm: subprocess.Popen) -> None:
    lines = (f.folder / f"mad-{sm.pid}.log").read_text().splitlines()
    form = re.compile(r"\d+ (tx|rx|to) [\da-f]{2} [\da-f]{2} [\da-f]{4} [\da-f]{8} [\da-f]{16} "
                      r"[\d,]+ [\da-f]{4}( lid=\d+ smlid=\d+ state=\d+)?$")
    bad = [line for line in lines if not form.match(line)]
    sets = sum(" tx 81 02 0015 " in line and "smlid=1" in line for line in lines)
    check("the MAD log", not bad and len(lines) > 1000 and sets > 0, bad[:3] or (len(lines), sets))


def test_slots(f: Fabric, sm: subprocess.Popen) -> None:
    before = guardians(f)
    for i in range(24):
        p = f.start(f"host-3-{i % HOSTS_A_LEAF}", "ibnetdiscover")
        f.wait_for(lambda: guardians(f) - before or p.poll() is not None, 5, "an attachment")
        p.send_signal(signal.SIGKILL)
        p.wait()
        f.wait_for(lambda: not guardians(f) - before, 5, "the guardian ends")
    out = f.run("host-3-1", "smpquery", "-D", "nodedesc", "0")
    check("24 killed clients leave no slot taken", out.returncode == 0, out.stderr)
    is_sm = lambda: "IsSM\n" in f.run("host-3-1", "smpquery", "portinfo", "1").stdout
    check("the port of OpenSM has IsSM", is_sm())
    sm.send_signal(signal.SIGKILL)
    sm.wait()
    f.wait_for(lambda: not is_sm(), 3, "IsSM cleared after SIGKILL")
    check("IsSM is cleared after SIGKILL", True)


def test_absent(f: Fabric) -> None:
    stopped = f.start("host-1-1", "opensm", "-f", str(f.folder / "osm2.log"))
    f.wait_for(lambda: len(guardians(f)) > 0, 5, "OpenSM attaches")
    f.sim.kill()
    f.sim.wait()
    time.sleep(1)
    stopped.terminate()
    try:
        stopped.wait(20)
    except subprocess.TimeoutExpired:
        check("OpenSM ends after the simulator has died", False)
    start = time.monotonic()
    out = f.run("host-1-1", "ibstat", seconds=10)
    check("without a simulator: an error at once, naming the socket", out.returncode != 0 and
          f"{f.name}:ctl" in out.stderr and time.monotonic() - start < 3, out.stderr)


def main() -> None:
    missing = [t for t in TOOLS if not shutil.which(t, path=PATH)]
    if missing:
        print("skipped: not installed:", *missing)
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory(prefix="umad-test-") as folder:
        f = Fabric(sys.argv[1], Path(folder))
        try:
            sm = test_sweep(f)
            test_tools(f)
            test_osmtest(f)
            test_log(f, sm)
            test_slots(f, sm)
            test_absent(f)
            left = [p.name for p in Path(folder).iterdir() if p.name.startswith("sys-")]
            check("no folder is left behind", not left, left)
        finally:
            f.close()


main()
