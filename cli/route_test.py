# SPDX-License-Identifier: BSD-2-Clause
"""heddle route without a cluster: what it computes, measures, compares and refuses."""
import json
import os
import random
import re
import subprocess

import pytest

HEDDLE = os.path.join(os.environ['HEDDLE_BUILD'], 'bin', 'heddle')
TREE = 'pgft:2:4,4:1,2:1,2'
SPECS = [TREE, 'torus:4x4:2', 'random:20:50:4:3', 'dragonfly:5:3:2:1', 'rail:8:2:4:2']
ENGINES = ['ftree', 'updn', 'dnup', 'minhop', 'dor', 'nue', 'sssp', 'dfsssp', 'lash',
           'torus-2qos']
COMPUTE_KEYS = {'engine', 'hosts', 'switches', 'prepare_s', 'total_s', 'peak_rss_bytes',
                'unreachable_pairs', 'vls', 'tables_digest'}


def heddle(*words, status=0):
    done = subprocess.run([HEDDLE, *words], capture_output=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done


def as_json(*words, status=0):
    return json.loads(heddle(*words, '--json', '-', status=status).stdout)


def compute(fabric, *words, status=0):
    return as_json('route', 'compute', '--fabric', str(fabric), *words, status=status)


def or_else(engine):
    """Not every engine serves every fabric."""
    return engine if engine == 'updn' else engine + ',updn'


def text_of(spec):
    return heddle('fabric', 'convert', spec, '-').stdout


# -- compute ------------------------------------------------------------------------------------


@pytest.mark.parametrize('spec', SPECS)
@pytest.mark.parametrize('engine', ENGINES)
def test_compute(spec, engine):
    done = compute(spec, '--engine', or_else(engine))
    assert COMPUTE_KEYS <= set(done)
    assert done['unreachable_pairs'] == 0 and 1 <= done['vls'] <= 8
    assert 0 <= done['prepare_s'] <= done['total_s'] and done['peak_rss_bytes'] > 1 << 20
    assert re.fullmatch('[0-9a-f]{64}', done['tables_digest'])
    assert done['engine'] == engine or done['refusals'][0].startswith(engine + ':')


def test_counts():
    done = compute(TREE, '--threads', '1')
    assert (done['hosts'], done['switches'], done['links']) == (16, 6, 16)
    assert done['engine'] == 'ftree' and done['threads'] == 1 and done['max_hops'] == 2


@pytest.mark.parametrize('engine', ENGINES)
def test_digest_does_not_depend_on_threads(engine):
    digests = {compute(SPECS[2], '--engine', or_else(engine), '--threads', n)['tables_digest']
               for n in ('1', '2', '7')}
    assert len(digests) == 1


def relabelled(text, seed):
    """The same fabric in another order and with other LIDs."""
    draw = random.Random(seed)
    blocks = [b for b in re.split(r'\n\s*\n', text) if 'guid=' in b]
    draw.shuffle(blocks)
    lids = {}
    free = draw.sample(range(1, 5000), 2000)

    def lid_of(name, port):
        key = name if name.startswith('S') else (name, port)
        return lids.setdefault(key, free[len(lids)])

    def change(block):
        me = re.search(r'^(?:Switch|Ca|Rt)\s+\d+ "([^"]+)"', block, re.M).group(1)
        lines = []
        for line in block.split('\n'):
            link = re.match(r'\[(\d+)\](?:\([0-9a-f]+\))?\s+"([^"]+)"\[(\d+)\]', line)
            if line.startswith('Switch'):
                line = re.sub(r'lid \d+', f'lid {lid_of(me, 0)}', line)
            elif link and me.startswith('S'):
                line = re.sub(r'lid \d+', f'lid {lid_of(link[2], link[3])}', line)
            elif link:
                line = re.sub(r'# lid \d+', f'# lid {lid_of(me, link[1])}', line)
                line = re.sub(r'" lid \d+', f'" lid {lid_of(link[2], 0)}', line)
            lines.append(line)
        return '\n'.join(lines)

    return '\n\n'.join(change(b) for b in blocks) + '\n'


@pytest.mark.parametrize('spec', SPECS)
def test_digest_does_not_depend_on_lids_or_order(spec, tmp_path):
    file = tmp_path / 'net'
    file.write_text(relabelled(text_of(spec), 5))
    dump, other = tmp_path / 'a', tmp_path / 'b'
    for engine in ('ftree,updn', 'nue', 'minhop'):
        a = compute(spec, '--engine', engine, '--lfts-out', str(dump))
        b = compute(file, '--engine', engine, '--lfts-out', str(other))
        assert a['tables_digest'] == b['tables_digest']
        assert dump.read_text() != other.read_text()


def test_digest_depends_on_tables():
    digests = {compute(SPECS[2], '--engine', e)['tables_digest']
               for e in ('updn', 'dnup', 'minhop', 'nue')}
    assert len(digests) == 4


@pytest.mark.parametrize('lmc', ['0', '2'])
def test_tables_out_and_in(lmc, tmp_path):
    dump = tmp_path / 'tables'
    made = compute(TREE, '--lmc', lmc, '--lfts-out', str(dump))
    again = compute(TREE, '--engine', 'file', '--tables', str(dump))
    assert again['tables_digest'] == made['tables_digest'] and again['engine'] == 'file'
    heddle('route', 'check', '--fabric', TREE, '--lfts', str(dump))
    heddle('route', 'check', '--fabric', TREE, '--engine', 'file', '--tables', str(dump))
    assert [p.name for p in tmp_path.iterdir()] == ['tables']
    lids = max(int(m, 16) for m in re.findall('^0x([0-9a-f]+) ', dump.read_text(), re.M))
    assert lids >= 16 << int(lmc)


def test_tables_of_another_fabric(tmp_path):
    dump = tmp_path / 'tables'
    compute('pgft:2:2,2:1,2:1,1', '--lfts-out', str(dump))
    done = heddle('route', 'compute', '--fabric', TREE, '--engine', 'file', '--tables', str(dump),
                  status=1)
    assert 'does not tell the LID of port 0x' in done.stderr


def test_files_of_guids(tmp_path):
    text = text_of(TREE)
    roots = tmp_path / 'roots'
    roots.write_text('\n'.join(f'0x{g}' for g in re.findall(r'S-([0-9a-f]{16})".*# "s2-', text)))
    plain = compute(TREE, '--engine', 'updn')
    given = compute(TREE, '--engine', 'updn', '--roots', str(roots))
    assert given['tables_digest'] == plain['tables_digest']
    leaf = re.search(r'switchguid=0x([0-9a-f]{16}).*\nSwitch.*"s1-00001"', text)[1]
    other = compute(TREE, '--engine', 'updn', '--root', '0x' + leaf)
    assert other['tables_digest'] != plain['tables_digest']
    (tmp_path / 'bad').write_text('0x12\nwhat\n')
    done = heddle('route', 'compute', '--fabric', TREE, '--roots', str(tmp_path / 'bad'), status=1)
    assert f'{tmp_path}/bad:2' in done.stderr


def test_shape_of_a_torus(tmp_path):
    shape = tmp_path / 'conf'
    words = ['--engine', 'torus-2qos', '--torus', str(shape)]
    shape.write_text('torus 4 4 1\n')
    assert compute(SPECS[1], *words)['engine'] == 'torus-2qos'
    shape.write_text('torus 5 4 1\n')
    heddle('route', 'compute', '--fabric', SPECS[1], *words, status=1)
    shape.write_text('# a torus\ntorus x\n')
    done = heddle('route', 'compute', '--fabric', SPECS[1], *words, status=1)
    assert str(shape) in done.stderr and '2' in done.stderr and done.stderr.count('\n') == 1


@pytest.mark.parametrize('engine, exact', [('ftree', True), ('updn', True), ('nue', True),
                                           ('dfsssp', False)])
def test_shards(engine, exact):
    done = compute('pgft:2:8,4:1,4:1,1', '--engine', engine, '--shards', '3')
    shards = done['shards']
    assert shards['count'] == len(shards['each']) == 3 and shards['exact'] == exact
    if exact:
        assert shards['identical'] and shards['differing_entries'] == 0 and 'a2a' not in shards
    assert shards['vls'] >= 1 and shards['critical_s'] > 0
    heddle('route', 'compute', '--fabric', TREE, '--shards', '-1', status=2)


# -- what cannot be routed ------------------------------------------------------------------------


def test_list_of_engines(tmp_path):
    spec = 'random:30:60:6:1'
    done = heddle('route', 'compute', '--fabric', spec, '--engine', 'dfsssp,updn', '--vls', '1')
    assert 'passed over dfsssp: ' in done.stderr and done.stderr.count('\n') == 1
    assert compute(spec, '--engine', 'dfsssp,updn', '--vls', '1')['engine'] == 'updn'
    out = tmp_path / 'tables'
    done = heddle('route', 'compute', '--fabric', spec, '--engine', 'dfsssp', '--vls', '1',
                  '--lfts-out', str(out), status=1)
    assert done.stdout == '' and done.stderr.count('\n') == 1 and 'dfsssp' in done.stderr
    assert not out.exists()


def in_two_pieces(tmp_path):
    file = tmp_path / 'pieces'
    heddle('route', 'degrade', '--fabric', 'pgft:2:2,2:1,1:1,1', '--links', '50',
           '--write', str(file))
    return file


def test_pairs_that_nothing_joins(tmp_path):
    file, out = in_two_pieces(tmp_path), tmp_path / 'tables'
    done = heddle('route', 'compute', '--fabric', str(file), '--lfts-out', str(out), status=1)
    assert done.stderr.count('\n') == 1 and 'without a path' in done.stderr
    assert re.search('disconnected: from switch 0x[0-9a-f]{16} to LID', done.stderr)
    assert not out.exists()
    report = compute(file, status=1)
    assert report['unreachable_pairs'] == report['disconnected_pairs'] > 0
    report = compute(file, '--partial', '--lfts-out', str(out))
    assert report['unreachable_pairs'] > 0 and out.exists()
    done = heddle('route', 'quality', '--fabric', str(file), status=1)
    assert 'pairs of hosts have no path' in done.stderr


def test_fabrics_without_anything(tmp_path):
    file = tmp_path / 'net'
    for text, what in (('', 'net'), ('Switch 4 "S-0000000000000001"  # "s"\n', 'no host'),
                       ('Ca 1 "H-0000000000000001"  # "h"\n', 'no switch')):
        file.write_text(text)
        done = heddle('route', 'compute', '--fabric', str(file), status=1)
        assert done.stdout == '' and what in done.stderr


def test_too_many_lids():
    done = heddle('route', 'compute', '--fabric', 'pgft:2:100,100:1,10:1,1', '--lmc', '7', status=1)
    assert '49,151' in done.stderr and done.stderr.count('\n') == 1


def test_outputs_are_whole(tmp_path):
    file = tmp_path / 'json'
    file.write_text('old')
    heddle('route', 'compute', '--fabric', TREE, '--json', str(file))
    assert json.loads(file.read_text())['hosts'] == 16
    heddle('route', 'compute', '--fabric', TREE, '--json', '/dev/full', status=1)
    heddle('route', 'compute', '--fabric', TREE, '--lfts-out', '/dev/full', status=1)
    assert [p.name for p in tmp_path.iterdir()] == ['json']


# -- quality --------------------------------------------------------------------------------------


def test_quality():
    done = as_json('route', 'quality', '--fabric', 'pgft:3:16,16,8:1,16,4:1,1,1', '--seed', '1')
    assert (done['a2a'], done['sp_max'], done['shifts']) == (28, 4, 2047)
    assert 8 <= done['rp_median'] <= 12 and done['hosts'] == 2048 and done['engine'] == 'ftree'


def test_quality_does_not_depend_on_threads():
    words = ['route', 'quality', '--fabric', SPECS[2], '--engine', 'minhop', '--shifts', '7']
    one, three = (as_json(*words, '--threads', n) for n in '13')
    assert one == three and one['shifts'] == 7
    every = as_json(*words[:-1], '0')
    assert every['shifts'] == every['hosts'] - 1 and every['sp_max'] >= one['sp_max']
    assert every['a2a'] == one['a2a'] and every['rp_median'] == one['rp_median']


def brute_force(text, dump):
    """SP and A2A by walking the dump; LIDs and cables from the files alone."""
    cable, hosts = {}, []
    switch = None
    for line in text.split('\n'):
        node = re.match(r'(Switch|Ca)\s+\d+ "(?:S|H)-([0-9a-f]{16})"', line)
        if node:
            switch = node[2] if node[1] == 'Switch' else None
        link = re.match(r'\[(\d+)\]\s+"([SH])-([0-9a-f]{16})"\[\d+\](?:\(([0-9a-f]+)\))?', line)
        if link and switch:
            cable[switch, int(link[1])] = link[3] if link[2] == 'S' else None
            if link[2] == 'H':
                hosts.append((link[4], switch))
    table, lid = {}, {}
    for line in dump.split('\n'):
        head = re.match(r'Unicast lids .* guid 0x([0-9a-f]{16})', line)
        if head:
            at = head[1]
        entry = re.match(r'0x([0-9a-f]+) (\d+) : \(.* portguid 0x([0-9a-f]+): ', line)
        if entry:
            table[at, entry[3]] = int(entry[2])
            lid[entry[3]] = entry[1]

    def path(source, to):
        here = source[1]
        while here != to[1]:
            port = table[here, to[0]]
            yield here, port
            here = cable[here, port]

    n = len(hosts)
    shifts = 0
    sources, targets = {}, {}
    for k in range(1, n):
        load = {}
        for i in range(n):
            to = hosts[(i + k) % n]
            for channel in path(hosts[i], to):
                load[channel] = load.get(channel, 0) + 1
                sources.setdefault(channel, set()).add(i)
                targets.setdefault(channel, set()).add(to)
        shifts = max(shifts, *load.values())
    return max(min(len(sources[c]), len(targets[c])) for c in sources), shifts


@pytest.mark.parametrize('spec', SPECS)
def test_quality_by_brute_force(spec, tmp_path):
    dump = tmp_path / 'tables'
    heddle('route', 'compute', '--fabric', spec, '--engine', 'updn', '--lfts-out', str(dump))
    done = as_json('route', 'quality', '--fabric', spec, '--engine', 'updn')
    assert (done['a2a'], done['sp_max']) == brute_force(text_of(spec), dump.read_text())


def test_jobs(tmp_path):
    file = tmp_path / 'jobs'
    file.write_text('one: h00001 h00005\ntwo: h00002 h00006 h00010\n')
    words = ['route', 'quality', '--fabric', TREE, '--jobs', str(file)]
    done = as_json(*words)
    assert [(j['name'], j['servers']) for j in done['jobs']] == [('one', 2), ('two', 3)]
    assert [j['ring']['flows'] for j in done['jobs']] == [2, 3]
    assert done['jobs'][1]['full']['flows'] == 6 and done['jobs'][1]['full']['lost'] == 0
    assert done['jobs'][0]['ring']['max'] == 1 and done['together']['ring']['flows'] == 5
    text = heddle(*words).stdout
    assert re.search(r'two +ring +3 +0', text) and '(together)' in text
    file.write_text('one: h00001 nobody\n')
    done = heddle(*words, status=1)
    assert f'{file}:1' in done.stderr and done.stdout == '' and done.stderr.count('\n') == 1


def test_picture(tmp_path):
    file = tmp_path / 'svg'
    heddle('route', 'compute', '--fabric', TREE, '--picture', str(file))
    assert file.read_text() == heddle('route', 'quality', '--fabric', TREE, '--picture', '-').stdout
    assert '<svg' in file.read_text() and 'ftree' in file.read_text()


# -- compare and degrade --------------------------------------------------------------------------


def test_compare(tmp_path):
    dump = tmp_path / 'tables'
    heddle('route', 'compute', '--fabric', TREE, '--engine', 'updn', '--lfts-out', str(dump))
    done = as_json('route', 'compare', '--fabric', TREE, '--engine', 'updn,minhop,sssp',
                   '--lfts', str(dump))
    results = done['results']
    assert [r['engine'] for r in results] == ['updn', 'minhop', 'sssp', None]
    assert results[3]['lfts'] == 'tables' and done['hosts'] == 16
    for key in ('a2a', 'rp_median', 'sp_max', 'mean_hops', 'credit_loop_channels'):
        assert results[0][key] == results[3][key]
    text = heddle('route', 'compare', '--fabric', TREE, '--engine', 'updn,minhop').stdout
    assert re.search(r'updn\s+minhop\n', text) and 'A2A' in text


def test_compare_with_engines_that_refuse():
    spec = 'random:30:60:6:1'
    done = as_json('route', 'compare', '--fabric', spec, '--engine', 'dfsssp,updn', '--vls', '1')
    assert 'dfsssp' in done['results'][0]['refused'] and done['results'][1]['refused'] is None
    heddle('route', 'compare', '--fabric', spec, '--engine', 'dfsssp', '--vls', '1', status=1)


def test_degrade(tmp_path):
    spec, left = 'pgft:3:4,4,4:1,4,4:1,1,1', tmp_path / 'left'
    words = ['route', 'degrade', '--fabric', spec, '--links', '5:7']
    done = as_json(*words, '--write', str(left))
    assert done['removed'] == {'links': 7, 'switches': 0, 'end_ports': 0}
    assert done['before']['links'] - done['after']['links'] == 7
    assert done['after']['unreachable_pairs'] == done['after']['credit_loop_channels'] == 0
    assert compute(left)['links'] == done['after']['links']
    for key in ('a2a', 'rp_median', 'sp_max'):
        assert done['after'][key] == as_json('route', 'quality', '--fabric', str(left))[key]
    other = tmp_path / 'other'
    as_json(*words[:-1], '5:8', '--write', str(other))
    assert left.read_text() != other.read_text()


def test_degrade_does_not_depend_on_order(tmp_path):
    file = tmp_path / 'net'
    file.write_text(relabelled(text_of(SPECS[2]), 9))
    digests = []
    for spec in (SPECS[2], str(file)):
        left = tmp_path / 'left'
        heddle('route', 'degrade', '--fabric', spec, '--links', '10:3', '--switches', '5:4',
               '--write', str(left))
        digests.append(compute(left, '--engine', 'updn', '--partial')['tables_digest'])
    assert digests[0] == digests[1]


def test_degrade_by_name():
    text = text_of(TREE)
    leaf = re.search(r'switchguid=0x([0-9a-f]{16}).*\nSwitch.*"s1-00001"', text)[1]
    done = as_json('route', 'degrade', '--fabric', TREE, '--without', '0x' + leaf)
    assert done['removed'] == {'links': 4, 'switches': 1, 'end_ports': 4}
    done = as_json('route', 'degrade', '--fabric', TREE, '--without', leaf + '/5',
                   '--root', '0x' + leaf)
    assert done['removed'] == {'links': 1, 'switches': 0, 'end_ports': 0}
    done = as_json('route', 'degrade', '--fabric', TREE, '--without', leaf + '/1')
    assert done['removed'] == {'links': 0, 'switches': 0, 'end_ports': 1}
    done = heddle('route', 'degrade', '--fabric', TREE, '--without', leaf + '/99', status=1)
    assert 'has 8 ports' in done.stderr


def test_progress():
    done = heddle('route', 'quality', '--fabric', TREE, '--progress')
    assert [line.split()[1] for line in done.stderr.splitlines()] == [
        'loading', 'routing', 'measuring']
    assert heddle('route', 'quality', '--fabric', TREE).stderr == ''
