#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""heddle-sim's hosts under a real manager: host_cluster_test.py HEDDLE_SIM LIBHEDDLE_UMAD.

They register with OpenSM and saquery shows it; another OpenSM takes over at another LID; one host
loses its power and one its processes; after random faults all come back."""

import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "server"))
from server_cluster_test import HOSTS, PATH, SKIPPED, Lab, Simulator, check  # noqa: E402

GROUPS, SERVICES, TRAPS = 3, 2, 4
SPEC = f"groups={GROUPS} services={SERVICES} paths=2 inform=yes"
PATIENCE_S = 90  # a join that is not answered comes again after 4, 5, 7, 11 or 19 s


def status(s: Simulator, host: str = "") -> dict[str, int]:
    line = s.command(f"hosts status {host}".strip())[0]
    return {k: int(float(v)) for k, v in re.findall(r"(\w+)=([\d.]+)", line)}


def wait_for(s: Simulator, what: str, condition) -> dict[str, int]:
    end = time.monotonic() + PATIENCE_S
    while not condition(now := status(s)):
        if time.monotonic() > end:
            check(what, False, now)
        time.sleep(0.1)
    check(what, True)
    return now


def is_whole(now: dict[str, int]) -> bool:
    return (now["registered"], now["stale"]) == (HOSTS, 0)


def check_shown(lab: Lab, s: Simulator) -> None:
    def count(pattern: str, *query: str) -> int:
        out = lab.run(s, "h00003", lab.preload, "saquery", *query)
        return len(re.findall(pattern, out.stdout))

    shared = GROUPS  # broadcast, all hosts, all routers; and one solicited-node group a host
    check("saquery shows the groups", count(r"MGID\.+ff12:", "-g") >= shared + HOSTS)
    check("saquery shows the services",
          count(r"ServiceName\.+sim-service-", "SR") == HOSTS * SERVICES)
    check("saquery shows the subscriptions", count(r"SubscriberGID", "IIR") == HOSTS * TRAPS)


def test_registration(lab: Lab) -> None:
    with lab.simulator("--hosts", SPEC) as s:
        first = lab.start(s, "h00001", lab.preload, "opensm", "-f", str(lab.folder / "first.log"))
        now = wait_for(s, "all hosts register with OpenSM", is_whole)
        check("each record of theirs is confirmed",
              (now["groups"], now["services"], now["subscribed"]) ==
              (HOSTS * (1 + GROUPS), HOSTS * SERVICES, HOSTS * TRAPS), now)
        check("nothing wrong is answered", (now["wrong"], now["errors"]) == (0, 0), now)
        check_shown(lab, s)

        first.kill()
        first.wait()
        lab.start(s, "h00009", lab.preload, "opensm", "-f", str(lab.folder / "second.log"))
        before = status(s)["requests"]
        wait_for(s, "all hosts register with OpenSM elsewhere",
                 lambda now: is_whole(now) and
                 now["requests"] >= before + HOSTS * (1 + GROUPS + SERVICES + TRAPS))
        check_shown(lab, s)

        s.command("power h00005 off")
        check("a host without power is not registered", status(s)["registered"] == HOSTS - 1)
        s.command("hosts kill h00006")
        check("services end with their process",
              status(s)["services"] == (HOSTS - 2) * SERVICES, status(s))
        s.command("power h00005 on")
        s.command("hosts revive h00006")
        wait_for(s, "both come back", lambda now: is_whole(now) and
                 now["services"] == HOSTS * SERVICES)

        s.command("random 20")
        time.sleep(10)
        s.command("random off")
        wait_for(s, "all are registered after random faults", is_whole)


def main() -> None:
    missing = [t for t in ("opensm", "saquery") if not shutil.which(t, path=PATH)]
    if missing:
        print("skipped: not installed:", *missing)
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory(prefix="host-test-") as folder:
        lab = Lab(*sys.argv[1:3], Path(folder))
        try:
            test_registration(lab)
        finally:
            lab.close()


if __name__ == "__main__":
    main()
