#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""heddle's checker and the witness on random small fabrics with all engines: the same counts.

dump_plan makes fabrics and tables from seeds and says what routing/check.c finds; the witness reads
the files. Tables are checked as engines make them, and with random entries, service levels and
SL2VL tables. With --real: on saved fabrics of real installations, in $HEDDLE_FABRICS (else
../shared/fabrics beside the source), all engines with up to 8 VLs. Ends with 1 when the two disagree
anywhere; the files of such a case are kept."""
import argparse
import collections
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile

import witness

CHUNK = 10  # fabrics whose files exist at the same time, a process
SAME = ('ok', 'pairs', 'unreachable', 'disconnected', 'loops', 'dead_ports',
        'credit_loop_channels', 'max_hops')
DUMP_PLAN = os.path.join(os.environ.get('HEDDLE_BUILD', 'build'), 'bin', 'dump_plan')


def differences(ours: dict, theirs: dict) -> list[str]:
    """ours: heddle's. How many packets in VLs that are not there are found is no property of the
    tables: a walk ends where another one has been. Whether there are any is one."""
    keys = list(SAME)
    if 'credit_loop_channels_per_vl' in ours:  # not told where packets change their VL
        keys.append('credit_loop_channels_per_vl')
    found = [f'{key}: heddle {ours[key]}, witness {theirs[key]}'
             for key in keys if ours[key] != theirs[key]]
    if bool(ours['bad_lanes']) != bool(theirs['bad_lanes']):
        found.append(f'bad_lanes: heddle {ours["bad_lanes"]}, witness {theirs["bad_lanes"]}')
    return found


def kinds_found(case: dict) -> list[str]:
    return [kind for kind in ('unreachable', 'disconnected', 'loops', 'dead_ports', 'bad_lanes',
                              'credit_loop_channels') if case[kind]]


def check_chunk(job: tuple[int, int, str]) -> tuple[collections.Counter, list[str]]:
    first, count, keep = job
    tally: collections.Counter = collections.Counter()
    wrong: list[str] = []
    folder = tempfile.mkdtemp(prefix='heddle-witness-')
    run = subprocess.run([DUMP_PLAN, 'random', folder, str(first), str(count)],
                         stdout=subprocess.PIPE, text=True, timeout=1200)
    if run.returncode:
        wrong.append(f'dump_plan random {folder} {first} {count}: status {run.returncode}')
    for line in run.stdout.splitlines():
        case = json.loads(line)
        name = case['engine'] + (f':{case["vls"]}' if case['engine'] == 'nue' and
                                 not case['spoilt'] else '')
        if 'refused' in case:
            tally[name, 'refused'] += 1
            continue
        tally[name, case['spoilt'] or 'as made'] += 1
        for kind in kinds_found(case):
            tally['all' if case['spoilt'] else 'as made', kind] += 1
            if not case['spoilt']:
                tally[name, kind] += 1
        path = {key: os.path.join(folder, case[key]) if key in case else None
                for key in ('fabric', 'lfts', 'sl', 'sl2vl')}
        theirs = witness.check_files(path['fabric'], path['lfts'], path['sl'], path['sl2vl'],
                                     case['vls'], limit=1)
        if found := differences(case, theirs):
            wrong.append(f'seed {case["seed"]} ({case["spec"]}) {name} {case["spoilt"]}: ' +
                         '; '.join(found))
            for file in filter(None, path.values()):
                shutil.copy(file, keep)
    shutil.rmtree(folder)
    return tally, wrong


def check_real() -> int:
    source = os.environ.get('HEDDLE_SOURCE', os.path.join(os.path.dirname(__file__), '../..'))
    place = os.environ.get('HEDDLE_FABRICS', os.path.join(source, '../shared/fabrics'))
    files = sorted(f for f in os.listdir(place) if f.endswith('.net')) if os.path.isdir(place) else []
    if not files:
        print(f'skipped: no fabrics in {place}')
    names = subprocess.run([DUMP_PLAN, 'engines'], check=True, stdout=subprocess.PIPE,
                           text=True).stdout.split()
    bad = 0
    for file in files:
        for name in names:
            with tempfile.TemporaryDirectory(prefix='heddle-witness-') as folder:
                run = subprocess.run([DUMP_PLAN, 'plan', folder, os.path.join(place, file),
                                      f'{name}:8'], capture_output=True, text=True, timeout=600)
                if run.returncode:
                    print(f'{file} {name}: refused: {run.stderr.strip()}')
                    continue
                case = json.loads(run.stdout)
                path = {key: os.path.join(folder, case[key]) if key in case else None
                        for key in ('fabric', 'lfts', 'sl', 'sl2vl')}
                theirs = witness.check_files(path['fabric'], path['lfts'], path['sl'],
                                             path['sl2vl'], case['vls'])
                found = differences(case, theirs)
                bad += bool(found)
                print(f'{file} {name}: VLs {case["vls"]}, pairs {case["pairs"]}, found ' +
                      (', '.join(f'{k} {case[k]}' for k in kinds_found(case)) or 'nothing') +
                      (f'; DISAGREE: {"; ".join(found)}' if found else '; agree'), flush=True)
    return 1 if bad else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--real', action='store_true')
    parser.add_argument('--fabrics', type=int, default=60)
    parser.add_argument('--seed', type=int, default=int(os.environ.get('HEDDLE_SEED', '1')))
    a = parser.parse_args()
    if a.real:
        return check_real()
    print(f'seeds {a.seed} to {a.seed + a.fabrics - 1}; repeat with '
          f'HEDDLE_BUILD={os.environ.get("HEDDLE_BUILD", "build")} agreement.py '
          f'--fabrics {a.fabrics} --seed {a.seed}', flush=True)
    keep = tempfile.mkdtemp(prefix='heddle-disagreement-')
    jobs = [(s, min(CHUNK, a.seed + a.fabrics - s), keep)
            for s in range(a.seed, a.seed + a.fabrics, CHUNK)]
    tally: collections.Counter = collections.Counter()
    wrong: list[str] = []
    with multiprocessing.Pool(2) as pool:
        for counts, lines in pool.imap(check_chunk, jobs):
            tally += counts
            wrong += lines
    for name in sorted({name for name, _ in tally}):
        print(f'{name}: ' + ', '.join(f'{kind} {n}' for (who, kind), n in sorted(tally.items())
                                      if who == name))
    checks = sum(n for (_, kind), n in tally.items() if kind in ('as made', 'entries', 'lanes'))
    print(f'{checks} tables on {a.fabrics} fabrics, {len(wrong)} disagreements')
    for line in wrong[:20]:
        print(line)
    if wrong:
        print(f'files are in {keep}')
        return 1
    os.rmdir(keep)
    # A comparison in which one side never finds anything shows nothing.
    missing = [k for k in ('unreachable', 'loops', 'dead_ports', 'credit_loop_channels',
                           'disconnected', 'bad_lanes') if not tally['all', k]]
    if missing or not checks:
        print(f'no fabric of these seeds had {", ".join(missing)}: take more')
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
