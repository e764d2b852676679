#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""heddle's routing engines and OpenSM's on the same fabrics, in one run.

OpenSM runs on ibsim, engine by engine; its tables are read back from the switches by heddle-portscan
once the subnet is up. One program (bench_route) checks and measures the tables of both. Each result is
appended to --json as it comes, and is not made again while it is there; --table makes a table of all
that is in it. Run by hand.
"""
import argparse
import collections
import datetime
import json
import math
import os
import re
import resource
import subprocess
import sys
import time

sys.dont_write_bytecode = True

from measure import BenchError, append, build, load, machine, main, usage, workspace  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))),
                                'tests', 'conformance'))

import engines as conformance_engines  # noqa: E402
import fabrics  # noqa: E402
import simulators  # noqa: E402
from opensm import OpenSM  # noqa: E402

OURS, THEIRS = 'heddle', 'OpenSM'
ENGINES = ('ftree', 'updn', 'dnup', 'minhop', 'dor', 'sssp', 'dfsssp', 'lash', 'nue:1', 'nue:4',
           'nue:8', 'torus-2qos')
LANES = {'dfsssp': 8, 'lash': 8, 'torus-2qos': 8}  # what the ports of ibsim have
ONE_SL_EACH_SWITCH = ('lash', 'nue')  # OpenSM's: the SL is that of all hosts of a switch
NAMES_OF_OPENSM = {'torus-2qos': 'torus-2QoS'}
NAMES_IN_LOG = {'torus-2QoS': 'torus-2qos', 'file': 'file'}
SLS_UP_TO_HOSTS = 5000  # a query of the SA for each switch; its answers name every host
TABLE_CONFIG = 'STARTING SWITCH TABLE CONFIG'
UP = 'SUBNET UP'
SCAN_TIMEOUT_S, QUERY_TIMEOUT_S, MEASURE_TIMEOUT_S = 900, 120, 1800
REPEAT_UP_TO_HOSTS, ALL_SHIFTS_HOSTS = 5000, 4096
QUICK = ('ftree', 'updn', 'dnup', 'minhop', 'dor')
ALLOWED = 1.2  # times the figure of OpenSM's fallback, rounded up
FIGURES = ('a2a', 'rp', 'sp')


# -- one fabric ----------------------------------------------------------------------------


def make_fabric(options, spec, percent, directory):
    """The net file that both are given: a file, a generator or torus:X,Y,Z, less some links."""
    name = spec
    if spec.startswith('torus:'):
        size = tuple(int(n) for n in spec.removeprefix('torus:').split(','))
        spec = fabrics.torus_net(size, os.path.join(directory, 'torus.net'))
    whole = os.path.join(directory, 'whole')
    os.makedirs(whole)
    fabric = fabrics.make(options.build, spec, whole, name if ':' in name else None)
    links = count_cables(fabric.net)
    if percent:
        less = os.path.join(directory, 'less.net')
        done = subprocess.run([bench_route(options), '--remove', f'{percent}:{options.seed}',
                               '--save', less, fabric.path], capture_output=True, text=True,
                              timeout=SCAN_TIMEOUT_S, check=False)
        if done.returncode != 0:
            raise BenchError(f'{name}: {done.stderr.strip()}')
        fabric = fabrics.make(options.build, less, directory, fabric.name)
    fabric.gone = links - count_cables(fabric.net)
    return fabric


def count_cables(net):
    return sum(len(n.cables) for n in net.nodes.values()) // 2


def bench_route(options):
    return os.path.join(options.build, 'bin', 'bench_route')


# -- what bench_route tells ----------------------------------------------------------------


def words(text):
    """The figures of a line of bench_route."""
    found = {}

    def take(key, pattern, kind=int):
        if m := re.search(pattern, text):
            found[key] = kind(m[1])
    take('hosts', r' hosts (\d+)')
    take('switches', r' switches (\d+)')
    take('wall_s', r' both ([\d.]+)', lambda ms: float(ms) / 1e3)
    take('cpu_s', r' = ([\d.]+) ms', lambda ms: float(ms) / 1e3)
    take('peak_mb', r' peak (\d+) KiB', lambda kib: round(int(kib) / 1024, 1))
    take('unreachable', r' unreachable (\d+)')
    take('disconnected', r' disconnected (\d+)')
    take('loops', r' loops (\d+)')
    take('dead', r' dead (\d+)')
    take('vls', r' VLs (\d+)')
    take('credit', r' credit (\d+)')
    take('credit_one_vl', r' credit-on-one-VL (\d+)')
    take('credit_cas', r' credit-of-CAs (\d+)')
    take('lost', r' lost (\d+)')
    take('a2a', r' A2A (\d+)')
    take('rp', r' RP (\d+)')
    take('sp', r' SP (\d+)')
    take('shifts', r' shifts (\d+)')
    take('mean_hops', r' mean hops ([\d.]+)', float)
    return found


def limit_memory(options):
    size = int(options.limit_gib * (1 << 30))
    return size, size


def repetitions(engine, fabric):
    """Medians, where a repetition costs little."""
    return 3 if engine in QUICK or len(fabric.net.hosts) <= REPEAT_UP_TO_HOSTS else 1


def wait_ours(options, child):
    """What it wrote, and whether it ended: the limit is for routing, checks have one of their own."""
    ended = True
    try:
        out, err = child.communicate(timeout=options.limit_s)
    except subprocess.TimeoutExpired as e:
        try:
            routed = b' both ' in (e.stdout or b'')
            out, err = child.communicate(timeout=MEASURE_TIMEOUT_S if routed else 0)
        except subprocess.TimeoutExpired:
            ended = False
            child.kill()
            out, err = child.communicate()
    return out.decode('utf-8', 'replace'), err.decode('utf-8', 'replace'), ended


def run_ours(options, fabric, engine, lanes, _directory):
    argv = [bench_route(options), '--engine', engine, '--vls', str(lanes), '--threads',
            str(options.threads), '--repeat',
            str(repetitions(engine, fabric)), '--check', '--measure', fabric.path]
    child = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    resource.prlimit(child.pid, resource.RLIMIT_AS, limit_memory(options))
    try:
        out, err, ended = wait_ours(options, child)
    finally:
        child.kill()
    found = words(out)
    if not ended:
        where = f'measuring within {MEASURE_TIMEOUT_S}' if 'wall_s' in found else \
            f'within {options.limit_s:g}'
        return {**found, 'note': f'did not finish {where} s'}
    if child.returncode == 2 and 'usage' in err:
        return {'note': 'no such engine'}
    if child.returncode != 0:
        return {'note': f'did not finish: status {child.returncode} {err.strip()[-200:]}'.strip()}
    if 'wall_s' not in found:
        return {'note': 'refused: ' + out.strip().partition(f' {engine}: ')[2][:200]}
    return {**found, 'used': engine}


# -- OpenSM --------------------------------------------------------------------------------


def run_theirs(options, fabric, engine, lanes, directory):
    name = NAMES_OF_OPENSM.get(engine, engine)
    settings = conformance_engines.options(name, fabric, directory)
    if engine == 'nue':
        settings['nue_max_num_vls'] = str(lanes)
    modules = os.path.join(directory, 'modules.conf')
    with open(modules, 'w', encoding='ascii') as f:
        f.write('osm_state_mgr.c=0x07\n')  # the steps of a sweep
    settings['per_module_logging_file'] = modules
    with simulators.Simulator(simulators.IBSIM, fabric, os.path.join(directory, 'sim'),
                              options.build, options.preload) as sim:
        manager = OpenSM(sim, fabric.manager, settings)
        resource.prlimit(manager.child.pid, resource.RLIMIT_AS, limit_memory(options))
        try:
            manager.wait_up(timeout_s=options.limit_s)
        except simulators.Failed:
            return {**times_of(manager.text()), **how_it_ended(options, manager)}
        found = {**times_of(manager.text()), 'used': used_engine(manager)}
        use = usage(manager.child.pid)
        found.update(peak_mb=round(use['hwm_mb'], 1), process_cpu_s=round(use['cpu_s'], 2))
        if found['used'] != engine:
            found['why'] = ' | '.join(why(manager.text()))[:300]
        tables = os.path.join(directory, 'tables.json')
        scan(options, sim, fabric, tables)
        sls = None
        if found['used'] in ONE_SL_EACH_SWITCH:
            sls = read_sls(sim, fabric, tables, os.path.join(directory, 'sls'))
        if manager.child.poll() is not None:
            found['note'] = f'ended with status {manager.child.returncode} after {UP}'
        log = manager.text()
        manager.stop()
    measured = measure_tables(options, fabric, tables, sls)
    if found['used'] in LANES and found['used'] not in ONE_SL_EACH_SWITCH:
        for key in ('credit', 'credit_cas', 'vls'):
            measured.pop(key, None)
    if found['used'] == 'dfsssp' and (m := re.search(r'Virtual Lanes needed: (\d+)', log)):
        measured['vls'] = int(m[1])
    return {**found, **measured}


def used_engine(manager):
    used = manager.engines()
    return NAMES_IN_LOG.get(used[-1], used[-1]) if used else None


def why(log):
    return [line.partition(' -> ')[2] for line in log.splitlines() if ' ERR ' in line][-3:]


def how_it_ended(options, manager):
    if manager.child.poll() is None:
        return {'note': f'did not finish within {options.limit_s} s'}
    code = manager.child.returncode
    how = f'signal {-code}' if code < 0 else f'status {code}'
    return {'note': f'did not finish: ended with {how}'}


def times_of(log):
    """Seconds from the start of table configuration to its end, and to SUBNET UP, by the log."""
    begin = tables = up = first = None
    stamp = None
    for line in log.splitlines():
        if m := re.match(r'\w{3} (\d\d) (\d\d):(\d\d):(\d\d) (\d{6}) ', line):
            day, hour, minute, second, micro = map(int, m.groups())
            stamp = ((day * 24 + hour) * 60 + minute) * 60 + second + micro / 1e6
            first = stamp if first is None else first
        if TABLE_CONFIG in line:
            begin = stamp
        elif 'tables configured on all switches' in line:
            tables = stamp
        elif line.endswith(UP) and up is None:
            up = stamp
    found = {}
    if m := re.search(r' (OpenSM \d\S*)$', log, re.M):
        found['opensm'] = m[1]
    if begin is not None and tables is not None:
        found['wall_s'] = round(tables - begin, 4)
    if begin is not None and up is not None:
        found['tables_to_up_s'] = round(up - begin, 3)
    if up is not None:
        found['up_s'] = round(up - first, 3)
    return found


def scan(options, sim, fabric, path):
    """Every switch's table, read from outside."""
    child = sim.start(fabric.client, os.path.join(options.build, 'bin', 'heddle-portscan'), '--lft',
                      output=path)
    try:
        status = child.wait(SCAN_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise simulators.Failed(f'the scan did not end within {SCAN_TIMEOUT_S} s') from None
    if status != 0:
        raise simulators.Failed(f'the scan ended with status {status}; see {path}')


def sources(tables):
    """A LID at each switch: of the first end port there, else its own."""
    lids, first, own = {}, {}, {}
    with open(tables, encoding='ascii') as f:
        for line in f:
            if '"kind":"lft"' in line:
                continue
            o = json.loads(line)
            if o['kind'] == 'port':
                lids[o['node'], o['port']] = o['lid']
                if o['type'] == 'switch':
                    own[o['node']] = o['lid']
    with open(tables, encoding='ascii') as f:
        for line in f:
            if '"kind":"link"' in line:
                o = json.loads(line)
                lid = lids.get((o.get('peer'), o.get('peer_port')))
                if lid and o.get('peer') not in own:
                    first.setdefault(o['node'], lid)
    return [lid for lid in {**own, **first}.values() if lid]


def read_sls(sim, fabric, tables, path):
    """What the SA answers for the paths from each switch. None where there are too many."""
    if len(fabric.net.hosts) > SLS_UP_TO_HOSTS:
        return None
    saquery = simulators.find_program('saquery')
    record = re.compile(r'dlid\.+(\d+)\n\s+slid\.+(\d+)\n(?:.*\n){0,6}?\s+sl\.+(0x[0-9A-Fa-f]+)')
    with open(path, 'w', encoding='ascii') as f:
        for lid in sources(tables):
            answer = sim.run(fabric.client, saquery, 'PR', '--slid', str(lid),
                             timeout_s=QUERY_TIMEOUT_S).stdout
            for dlid, slid, sl in record.findall(answer):
                f.write(f'{slid} {dlid} {int(sl, 16)}\n')
    return path


def measure_tables(options, fabric, tables, sls):
    argv = [bench_route(options), '--threads', str(options.threads), '--lfts', tables,
            *(['--sls', sls] if sls else []), fabric.path]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=MEASURE_TIMEOUT_S,
                              check=False)
    except subprocess.TimeoutExpired:
        return {'note': f'was not measured within {MEASURE_TIMEOUT_S} s'}
    if done.returncode != 0:
        return {'note': f'not measured: {done.stderr.strip()[-200:]}'}
    found = words(done.stdout)
    for key in ('wall_s', 'cpu_s', 'peak_mb'):
        found.pop(key, None)
    return found


# -- a campaign ----------------------------------------------------------------------------


def key_of(row):
    return row['fabric'], row['removed_percent'], row['seed'], row['engine'], row['by']


def read_rows(path):
    """The last result of each kind, in the order of the file."""
    rows = {}
    if path and os.path.exists(path):
        with open(path, encoding='utf-8') as f:
            for line in f:
                row = json.loads(line)
                rows[key_of(row)] = row
    return rows


def one_run(options, fabric, row):
    engine, _, lanes = row['engine'].partition(':')
    lanes = int(lanes) if lanes else LANES.get(engine, 1)
    run = run_ours if row['by'] == OURS else run_theirs
    begin = time.monotonic()
    try:
        with workspace() as directory:
            row.update(run(options, fabric, engine, lanes, directory))
    except (simulators.Failed, BenchError) as e:
        row['note'] = 'not run: ' + str(e).partition('; see ')[0][:300]  # nobody's fault
    row['whole_s'] = round(time.monotonic() - begin, 1)


def campaign(options):
    have = read_rows(options.json)
    for percent in options.remove:
        for spec in options.fabric:
            name = spec if ':' in spec else os.path.basename(spec).removesuffix('.net')
            wanted = [{'bench': 'route_compare', 'fabric': name, 'removed_percent': percent,
                       'seed': options.seed, 'engine': engine, 'by': by}
                      for engine in options.engines for by in options.by
                      if fits(engine, name)
                      and (options.again or (name, percent, options.seed, engine, by) not in have)]
            if not wanted:
                continue
            with workspace() as directory:
                fabric = make_fabric(options, spec, percent, directory)
                for row in wanted:
                    row.update(date=datetime.date.today().isoformat(), links_gone=fabric.gone,
                               limit_s=options.limit_s, limit_gib=options.limit_gib,
                               threads=options.threads, machine=machine(), load=load())
                    row['switches'] = len(fabric.net.switches)
                    one_run(options, fabric, row)
                    append(options.json, row)
                    show(row)


def fits(engine, name):
    return engine != 'torus-2qos' or name.startswith('torus:')


def show(row):
    figures = ' '.join(f'{k} {row[k]}' for k in
                       ('used', 'wall_s', 'unreachable', 'credit', 'vls', *FIGURES, 'note')
                       if row.get(k) is not None)
    print(f'{row["fabric"]} -{row["removed_percent"]:g}% {row["by"]} {row["engine"]}: {figures} '
          f'({row["whole_s"]} s)', flush=True)


# -- the table -----------------------------------------------------------------------------

HEAD = ('engine', 'whose', 'really used', 'routing s', 'CPU s', 'to SUBNET UP s', 'peak MB',
        'pairs without a path', 'of hosts', 'credit loops, one VL', 'on its VLs', 'CAs alone', 'VLs', 'A2A',
        'RP', 'SP', 'remarks')


def seconds(value):
    if value is None:
        return '-'
    return f'{value:.2g}' if value < 0.1 else f'{value:.3g}' if value < 100 else f'{value:.0f}'


def cell(row, key):
    return '-' if row.get(key) is None else str(row[key])


def line_of(row, verdict):
    lost = None if row.get('unreachable') is None else row['unreachable'] + row.get('loops', 0)
    remarks = [row['note']] if row.get('note') else []
    used = row.get('used')
    if row['by'] == THEIRS and used and used != row['engine'].partition(':')[0]:
        remarks.append('fell back')
        used = f'**{used}**'
    if row.get('disconnected'):
        remarks.append(f'{row["disconnected"]} pairs are not joined by any link')
    if row.get('sp') is not None and row['hosts'] > ALL_SHIFTS_HOSTS and not row.get('shifts'):
        remarks.append('SP over all shifts')
    if verdict:
        remarks.append(verdict)
    return (row['engine'], row['by'], used or '-', seconds(row.get('wall_s')),
            seconds(row.get('cpu_s')), seconds(row.get('tables_to_up_s')), cell(row, 'peak_mb'),
            '-' if lost is None else str(lost), cell(row, 'lost'), cell(row, 'credit_one_vl'),
            cell(row, 'credit'), cell(row, 'credit_cas'), cell(row, 'vls'), *(cell(row, k) for k in FIGURES),
            '; '.join(remarks).replace('|', '/').replace('\n', ' '))


def verdict_of(ours, theirs):
    """Of our ftree: what each figure is beside that of what OpenSM's ftree came to."""
    if not ours or not theirs or ours.get('a2a') is None or ours['fabric'].startswith('torus:'):
        return None
    if theirs.get('a2a') is None:
        return f'nothing to compare with: {theirs.get("note") or "pairs of hosts have no path"}'
    same = theirs.get('used') == 'ftree'
    allowed = {k: theirs[k] if same and not ours['removed_percent'] else
               math.ceil(round(ALLOWED * theirs[k], 6)) for k in FIGURES}
    worse = [f'{k.upper()} {ours[k]} > {allowed[k]}' for k in FIGURES if ours[k] > allowed[k]]
    against = 'its ftree' if same else f'its fallback {theirs.get("used")}'
    return f'WORSE than allowed beside {against}: {", ".join(worse)}' if worse else \
        f'holds beside {against}'


def table(rows):
    groups = collections.defaultdict(list)
    for row in rows.values():
        groups[row['fabric'], row['removed_percent'], row['seed']].append(row)
    verdicts, parts = [], []
    order = {e: i for i, e in enumerate(ENGINES)}
    for (name, percent, seed), group in sorted(groups.items(), key=lambda g: g[0][1:]):
        group.sort(key=lambda r: (order.get(r['engine'], 99), r['by'] == THEIRS))
        hosts = max((r.get('hosts', 0) for r in group), default=0)
        title = f'### {name}, ' + (f'{percent:g} % of its links gone '
                                   f'({group[0]["links_gone"]}, seed {seed})' if percent else 'intact')
        parts += ['', title, '', f'{hosts:,} hosts, {group[0]["switches"]:,} switches', '',
                  '| ' + ' | '.join(HEAD) + ' |', '|---' * len(HEAD) + '|']
        find = {(r['engine'], r['by']): r for r in group}
        verdict = verdict_of(find.get(('ftree', OURS)), find.get(('ftree', THEIRS)))
        if verdict:
            gone = f'{percent:g} %, seed {seed}' if percent else 'none'
            verdicts.append((name, gone, find['ftree', OURS], find['ftree', THEIRS], verdict))
        for row in group:
            mine = row['by'] == OURS and row['engine'] == 'ftree'
            parts.append('| ' + ' | '.join(line_of(row, verdict if mine else None)) + ' |')
        parts += not_run(name, find)
    return intro(rows) + verdict_table(verdicts) + parts


def not_run(name, found):
    """What the table lacks, so that nobody takes it for a refusal."""
    lacks = {by: [e for e in ENGINES if fits(e, name) and (e, by) not in found]
             for by in (OURS, THEIRS)}
    told = '; '.join(f'{by}: {", ".join(missing)}' for by, missing in lacks.items() if missing)
    return ['', f'Not run here: {told}.'] if told else []


def intro(rows):
    last = list(rows.values())[-1]
    m = last['machine']
    return ['# Routing: heddle and OpenSM', '',
            f'Made by `bench/route_compare.py --table` from `routing.jsonl` ({last["date"]}). '
            f'Machine: {m["cpu"]}, {m["cores"]} cores, {m["memory_mb"] / 1024:.0f} GiB, Linux '
            f'{m["kernel"]}; other programs ran on it (the load average of each run is in the '
            'lines of JSON), so that wall clock is coarse.', '',
            f'{opensm_of(rows)} ran on ibsim; its tables were read back from the switches. '
            '*Really used* is the engine that its log names: in bold where it fell back. '
            '*Routing*: of heddle, preparation and all rows, wall clock and processor time (medians of three, but of slow '
            'engines on large fabrics); of '
            'OpenSM, by its log, from "starting switch table config" to "tables configured", '
            'failed attempts included; *to SUBNET UP* from the same line. *Peak* is of the whole '
            'process. *Pairs without a path*: (source switch, LID), switches and aggregation nodes '
            'included, as the checker counts; *of hosts*: pairs of hosts. *Credit loops*: channels '
            'on cycles, with all traffic on one VL; on the VLs that the engine asks for (of OpenSM: by '
            'the SLs in its path records; not of its dfsssp, whose SLs are spread host by host once '
            'it has found how many VLs it needs); and so without the LIDs of switches, among CAs '
            'alone. A2A, RP, SP as routing/metrics.h defines '
            'them, of hosts (pairs without a path load nothing); RP with 1,000 permutations, SP over '
            'all shifts, above 4,096 hosts over 1,000 that were drawn; "-" where nothing was there '
            'to measure. OpenSM\'s nue leaves the LIDs of '
            'switches out of its order unless told otherwise (nue_include_switches); its default was '
            'left as it is.', '',
            'Links are removed by chance, by the seed that is told, and only links between '
            f'switches. A run that had not ended after {limits(rows)}, or wanted more than '
            f'{last["limit_gib"]:g} GiB, did not finish '
            '(limits of each run: in the lines of JSON).']


def limits(rows):
    """From the strictest to the most patient."""
    seen = sorted({r['limit_s'] for r in rows.values()})
    return ' to '.join(f'{s:g}' for s in dict.fromkeys((seen[0], seen[-1]))) + ' s'


def opensm_of(rows):
    """What its logs call it."""
    return ', '.join(sorted({r['opensm'] for r in rows.values() if r.get('opensm')})) or 'OpenSM'


def verdict_table(verdicts):
    lines = ['', '## ftree beside what OpenSM\'s ftree came to', '',
             'On intact trees that OpenSM\'s ftree takes: no figure greater. Elsewhere: each at '
             'most 1.2 times that of OpenSM, rounded up.', '',
             '| fabric | links gone | heddle A2A / RP / SP | OpenSM used | A2A / RP / SP | |',
             '|---|---|---|---|---|---|']
    for name, gone, ours, theirs, verdict in verdicts:
        mine = ' / '.join(cell(ours, k) for k in FIGURES)
        its = ' / '.join(cell(theirs, k) for k in FIGURES)
        lines.append(f'| {name} | {gone} | {mine} | {cell(theirs, "used")} | {its} | '
                     f'{verdict} |')
    return [*lines, '', '## All']


# ------------------------------------------------------------------------------------------


def parse():
    p = argparse.ArgumentParser(prog='route_compare.py', description=__doc__)
    p.add_argument('--build', metavar='DIR', help="the build tree (default $HEDDLE_BUILD, else a "
                   "preset's)")
    p.add_argument('--fabric', nargs='+', default=[], metavar='F',
                   help='files, generators, torus:X,Y,Z')
    p.add_argument('--remove', nargs='+', type=float, default=[0], metavar='PERCENT',
                   help='share of links between switches to take away (default 0)')
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--engines', nargs='+', default=ENGINES, metavar='E',
                   help=f'NAME or NAME:VLS (default {" ".join(ENGINES)})')
    p.add_argument('--by', nargs='+', choices=(OURS, THEIRS), default=(OURS, THEIRS))
    p.add_argument('--threads', type=int, default=2, help="heddle's (default 2)")
    p.add_argument('--limit-s', type=float, default=900, help='of one run (default 900)')
    p.add_argument('--limit-gib', type=float, default=16, help='of one run (default 16)')
    p.add_argument('--json', metavar='FILE', help='results: read first, appended to')
    p.add_argument('--again', action='store_true', help='also what is there already')
    p.add_argument('--table', metavar='FILE', help='write the table there')
    o = p.parse_args()
    if not o.fabric and not (o.json and o.table):
        p.error('name fabrics, or --json and --table')
    return o


def route_compare():
    options = parse()
    options.build = os.path.realpath(build.find(options.build))
    options.preload = os.path.join(options.build, 'lib', 'libheddle-umad.so')
    for path in (bench_route(options), options.preload,
                 os.path.join(options.build, 'bin', 'heddle-portscan')):
        if not os.path.exists(path):
            raise BenchError(f'{path} is not there; build it first')
    options.fabric = [f if ':' in f else os.path.abspath(f) for f in options.fabric]
    campaign(options)
    if options.table:
        rows = read_rows(options.json)
        if not rows:
            raise BenchError(f'{options.json}: no results in it')
        with open(options.table, 'w', encoding='utf-8') as f:
            f.write('\n'.join(table(rows)) + '\n')
    return 0


if __name__ == '__main__':
    sys.exit(main(route_compare))
