#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""A third opinion: ibdmchk of ibutils, on tables that the witness has judged.

Files are converted to what OpenSM leaves for it: subnet.lst, .fdbs, .mcfdbs, and SLs and SL2VL
tables where there are several lanes. Its text is judged, not its status: it may end with 139 (a
segmentation fault) after it has said all. Nodes are given names of their own, because it takes nodes
of equal name for one. It is asked for all paths (-a), as the witness looks at all of them.

What it cannot judge is not given to it: fabrics in several pieces (it ends before it looks at the
tables), LMCs that differ between ports (it takes one for the whole subnet), switches without a cable
(subnet.lst is a list of cables), entries at ports that a switch does not have, and switches whose
entry for their own LID is not port 0 (it does not look at that one). It looks for credit loops only
where all paths are whole. It counts paths between LIDs, the witness pairs of a switch and
a LID: so verdicts are compared, on paths and on credit loops.

As root ibdmchk leaves a report in /var/cache/ibutils: it has no option against that."""
import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

import witness

BUILD = os.environ.get('HEDDLE_BUILD', 'build')
DUMP_PLAN = os.path.join(BUILD, 'bin', 'dump_plan')
IBDMCHK = '/usr/bin/ibdmchk'
PORTS = witness.PORTS
END_GUID = 0xE000000000000000  # + base LID: end ports as CAs with one port


def write_subnet(f: witness.Fabric, path: str) -> None:
    lids = {o.switch: o.lid for o in f.owners if o.port == 0}

    def node(kind: str, guid: int, ports: int, lid: int, port: int) -> str:
        return (f'{{ {kind} Ports:{ports:02X} SystemGUID:{guid:016x} NodeGUID:{guid:016x} '
                f'PortGUID:{guid + (kind == "CA"):016x} VenID:000002C9 DevID:0000 Rev:00000000 '
                f'{{n{guid:016x}}} LID:{lid:04X} PN:{port:02X} }}')

    def switch(s: int, port: int) -> str:
        return node('SW', f.guids[s], max(f.live[s]), lids[s], port)
    lines = [(switch(a // PORTS, a % PORTS), switch(b // PORTS, b % PORTS))
             for a, b in sorted(f.far.items())]
    for o in f.owners:
        if o.port:
            end = node('CA', END_GUID + (o.lid << 8), 1, o.lid, 1)
            lines += [(end, switch(o.switch, o.port)), (switch(o.switch, o.port), end)]
    with open(path, 'w', encoding='ascii') as file:
        file.writelines(f'{a} {b} PHY=4x LOG=ACT SPD=10\n' for a, b in lines)


def write_tables(f: witness.Fabric, tables: list[dict[int, int]], path: str) -> None:
    with open(path, 'w', encoding='ascii') as file:
        for guid, table in zip(f.guids, tables):
            file.write(f'dump_ucast_routes: Switch 0x{guid:016x}\n'
                       'LID    : Port : Hops : Optimal\n')
            file.writelines(f'0x{lid:04X} : {port:03d}  : 00   : yes\n'
                            for lid, port in sorted(table.items()))
            file.write('\n')


def write_lanes(w: witness.Witness, sls_path: str, lanes_path: str) -> None:
    """Of CAs and switches the SL to each LID; of switches the VL of each SL."""
    f = w.f
    with open(sls_path, 'w', encoding='ascii') as file:
        for o in f.owners:
            guid = END_GUID + (o.lid << 8) if o.port else f.guids[o.switch]
            for to in f.owners:
                here = (w.sls or {}).get(to.lid, {}).get(o.switch, {})
                sl = here.get(o.port, min(here.values(), default=0))
                file.write(f'0x{guid:016x} {to.lid} {sl}\n')
    with open(lanes_path, 'w', encoding='ascii') as file:
        for s, guid in enumerate(f.guids):
            for i in range(max(f.live[s]) + 1):
                for o in range(1, max(f.live[s]) + 1):
                    vls = (w.lanes or {}).get((s * PORTS + i) * PORTS + o, range(16))
                    pairs = ' '.join(f'0x{a:x}{b:x}' for a, b in zip(vls[::2], vls[1::2]))
                    file.write(f'0x{guid:016x} {i} {o} {pairs}\n')


def ask(w: witness.Witness, tables: list[dict[int, int]], folder: str) -> tuple[dict, str]:
    """Its verdicts (None: it did not say) and its text."""
    path = {name: os.path.join(folder, name) for name in ('lst', 'fdbs', 'mcfdbs', 'psl', 'slvl')}
    write_subnet(w.f, path['lst'])
    write_tables(w.f, tables, path['fdbs'])
    with open(path['mcfdbs'], 'w', encoding='ascii'):
        pass
    command = [IBDMCHK, '-a', '-s', path['lst'], '-f', path['fdbs'], '-m', path['mcfdbs']]
    if w.sls is not None:
        write_lanes(w, path['psl'], path['slvl'])
        command += ['-c', path['psl'], '-d', path['slvl']]
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
                         cwd=folder, text=True, errors='replace')
    text = run.stdout
    said = {'status': run.returncode, 'paths': None, 'credit': None}
    if 'Some Point to Point Traversals Failed' in text:
        said['paths'] = False
    elif re.search(r'Scanned:\d+ paths', text):  # of all; "Scanned:N CA to CA paths" comes before
        said['paths'] = True
    if 'credit loops in routing' in text:
        said['credit'] = False
    elif 'no credit loops found' in text:
        said['credit'] = True
    return said, text


def fits(w: witness.Witness, tables: list[dict[int, int]]) -> bool:
    f = w.f
    return (len(set(w.piece)) == 1 and len(f.guids) > 1 and not any(o.lmc for o in f.owners) and
            all(tables[o.switch].get(o.lid) == 0 for o in f.owners if o.port == 0) and
            all(port <= max(f.live[s]) for s, t in enumerate(tables) for port in t.values()))


def compare(case: dict, folder: str, tally: collections.Counter, wrong: list[str]) -> None:
    text = {key: witness.read(os.path.join(folder, case[key])) if key in case else None
            for key in ('fabric', 'lfts', 'sl', 'sl2vl')}
    f = witness.read_fabric(case['fabric'], text['fabric'])
    tables = witness.read_tables(case['lfts'], text['lfts'], f)
    sls = witness.read_sls(case['sl'], text['sl'], f) if text['sl'] else None
    lanes = witness.read_lanes(case['sl2vl'], text['sl2vl'], f) if text['sl2vl'] else None
    w = witness.Witness(f, tables, sls, lanes, case['vls'])
    ours = w.run()
    if not fits(w, tables) or ours['bad_lanes']:
        tally['not given to it'] += 1
        return
    said, _ = ask(w, tables, folder)
    tally['given to it'] += 1
    tally[f'status {said["status"] if said["status"] >= 0 else 128 - said["status"]}'] += 1
    good = {'paths': not (ours['unreachable'] or ours['loops']),
            'credit': not ours['credit_loop_channels']}
    for what in good:
        verdict = f'{what} {"good" if good[what] else "bad"}'
        if said[what] is None:
            tally[f'{verdict}: it does not say'] += 1
        elif said[what] == good[what]:
            tally[f'{verdict}: agree'] += 1
        else:
            tally[f'{verdict}: it disagrees'] += 1
            wrong.append(f'seed {case["seed"]} ({case["spec"]}) {case["engine"]}:{case["vls"]} '
                         f'{case["spoilt"]}: {verdict}, {said}')


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--fabrics', type=int, default=20)
    parser.add_argument('--seed', type=int, default=int(os.environ.get('HEDDLE_SEED', '1')))
    a = parser.parse_args()
    if not os.access(IBDMCHK, os.X_OK):
        print(f'skipped: no {IBDMCHK} (Debian: ibutils)')
        return 0
    print(f'seeds {a.seed} to {a.seed + a.fabrics - 1}', flush=True)
    tally: collections.Counter = collections.Counter()
    wrong: list[str] = []
    for seed in range(a.seed, a.seed + a.fabrics):
        with tempfile.TemporaryDirectory(prefix='heddle-third-') as folder:
            out = subprocess.run([DUMP_PLAN, 'random', folder, str(seed), '1'], check=True,
                                 stdout=subprocess.PIPE, text=True, timeout=120).stdout
            for case in map(json.loads, out.splitlines()):
                if 'refused' not in case:
                    compare(case, folder, tally, wrong)
    for what, n in sorted(tally.items()):
        print(f'{what}: {n}')
    for line in wrong[:10]:
        print(line)
    some = tally['paths bad: agree'] and tally['credit bad: agree'] and tally['credit good: agree']
    return 0 if some and not wrong else 1


if __name__ == '__main__':
    sys.exit(main())
