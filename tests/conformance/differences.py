# SPDX-License-Identifier: BSD-2-Clause
"""Compares two recordings; knows the differences that are allowed and why (differences.txt).

An entry is

    tool:    smpquery portinfo, saquery PIR
    ibsim:   CapMask:.........................0x<hex>
    heddle:  CapMask:.........................0x<hex>
    reason:  why both are right, or what is wrong with ibsim
             (further lines are indented)

separated by an empty line. The two patterns are whole lines; `<number>` stands for decimal digits,
`<hex>` for hexadecimal ones; a general wildcard does not exist. `(no line)` stands for a line that
is not there. Patterns that begin with `~` are parts (`~one~two`): the two lines must be equal but
for them. A tool of an entry for which it matches nothing in a full run is an error."""
import difflib
import os
import re
from collections import Counter, namedtuple

FILE = os.path.join(os.path.dirname(os.path.realpath(__file__)), 'differences.txt')
NO_LINE = '(no line)'
KEYS = ('tool', 'ibsim', 'heddle', 'reason')
WILDCARDS = {'<number>': r'\d+', '<hex>': r'[0-9a-fA-F]+'}
PART = '~'
WINDOW, ANCHOR = 96, 3  # lines
MAX_SHOWN = 40

Entry = namedtuple('Entry', ('tools', *KEYS[1:]))
Difference = namedtuple('Difference', 'tool what ibsim heddle')


def parse(text):
    entries = []
    body = '\n'.join(line for line in text.splitlines() if not line.startswith('#'))
    for block in re.split(r'\n\s*\n', body.strip()):
        fields, key = {}, None
        for line in block.splitlines():
            if line[:1].isspace() and key == 'reason':
                fields[key] += ' ' + line.strip()
                continue
            key, colon, value = line.partition(':')
            if not colon or key not in KEYS or key in fields:
                raise ValueError(f'differences: not understood: {line}')
            fields[key] = value.strip()
        if block and set(fields) != set(KEYS):
            raise ValueError(f'differences: an entry needs {", ".join(KEYS)}: {block}')
        if block and not fields['reason']:
            raise ValueError(f'differences: no reason: {block}')
        if block:
            tools = tuple(tool.strip() for tool in fields.pop('tool').split(','))
            entries.append(Entry(tools, **fields))
    return entries


def load():
    with open(FILE, encoding='utf-8') as f:
        return parse(f.read())


def _matches(pattern, line):
    parts = re.split('(' + '|'.join(map(re.escape, WILDCARDS)) + ')', pattern)
    return re.fullmatch(''.join(WILDCARDS.get(p) or re.escape(p) for p in parts), line) is not None


def reads_as_literal(pattern):
    """Whether a pattern says more than its wildcards."""
    text = pattern
    for wildcard in WILDCARDS:
        text = text.replace(wildcard, '')
    return re.search('[a-zA-Z]', text) is not None


def allows(entry, difference):
    if difference.tool not in entry.tools:
        return False
    if entry.ibsim.startswith(PART):
        line = difference.ibsim
        for one, two in zip(entry.ibsim.split(PART)[1:], entry.heddle.split(PART)[1:], strict=True):
            if one not in line:
                return False
            line = line.replace(one, two, 1)
        return line == difference.heddle
    return _matches(entry.ibsim, difference.ibsim.strip()) and \
        _matches(entry.heddle, difference.heddle.strip())


def field(line):
    """What a line is about: the name before the colon, so that values are set side by side."""
    return re.split(r'[:=]|\.\.+', line.strip(), maxsplit=1)[0]


def compare(one, two):
    """The Differences of two recordings (lists of Answers of the same queries)."""
    if [(a.tool, a.what) for a in one] != [(a.tool, a.what) for a in two]:
        raise ValueError('the recordings are of different queries')
    found = []
    for a, b in zip(one, two):
        if a.lines != b.lines:
            found += [Difference(a.tool, a.what, *pair) for pair in _pairs(a.lines, b.lines)]
    return found


def _pairs(one, two):
    """Lines that differ, set side by side by their field. Long texts go window by window: each is
    aligned up to its last run of equal lines."""
    i = j = 0
    while i < len(one) or j < len(two):
        if i < len(one) and j < len(two) and one[i] == two[j]:
            i, j = i + 1, j + 1
            continue
        a, b = one[i:i + WINDOW], two[j:j + WINDOW]
        blocks = difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
        runs = [n for n, (kind, start, end, _, _) in enumerate(blocks)
                if kind == 'equal' and end - start >= ANCHOR]
        at_end = i + WINDOW >= len(one) and j + WINDOW >= len(two)
        if runs and not at_end:
            blocks = blocks[:runs[-1] + 1]
        for kind, start, end, other, other_end in blocks:
            if kind != 'equal':
                yield from _align(a[start:end], b[other:other_end])
        i, j = i + blocks[-1][2], j + blocks[-1][4]


def _align(one, two):
    if len(one) == len(two):
        yield from zip(one, two)
        return
    rest = list(two)
    for line in one:
        twin = next((other for other in rest if field(other) == field(line)), None)
        if twin is not None:
            rest.remove(twin)
        if twin != line:
            yield line, NO_LINE if twin is None else twin
    for line in rest:
        yield NO_LINE, line


class Judgement:
    """Collects the differences of several fabrics against the list."""

    def __init__(self, entries):
        self.entries = entries
        self.used = Counter()
        self.unlisted = []
        self.answers = self.lines = 0

    def add(self, one, two):
        """Returns the differences that are not on the list."""
        self.answers += len(one)
        self.lines += sum(len(a.lines) for a in one)
        new = []
        for difference in compare(one, two):
            entry = next((e for e in self.entries if allows(e, difference)), None)
            if entry is None:
                new.append(difference)
            else:
                self.used[entry, difference.tool] += 1
        self.unlisted += new
        return new

    def unused(self):
        """(entry, tool) where there is no such difference."""
        return [(e, tool) for e in self.entries for tool in e.tools if (e, tool) not in self.used]


def show(differences):
    """A summary for people: one example of each kind, with its count."""
    kinds = {}
    for d in differences:
        kinds.setdefault((d.tool, field(d.ibsim if d.ibsim != NO_LINE else d.heddle)), []).append(d)
    text = [f'{len(differences)} differences that are not listed, {len(kinds)} kinds:']
    for (tool, _), of_kind in list(kinds.items())[:MAX_SHOWN]:
        d = of_kind[0]
        text.append(f'  {len(of_kind)} x {tool}, as in {d.what}:\n    ibsim:  {d.ibsim}\n'
                    f'    heddle: {d.heddle}')
    return '\n'.join(text)
