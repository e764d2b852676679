# SPDX-License-Identifier: BSD-2-Clause
"""The comparison itself: it finds nothing between ibsim and ibsim, and finds what is planted."""
import pytest

import differences
from conftest import record_both
from differences import Difference, Entry, Judgement, NO_LINE, compare, parse
from simulators import IBSIM
from tools import Answer

pytestmark = pytest.mark.quick
TREE = 'pgft:2:4,2:1,2:1,1'
COUNTED = ('Traffic', 'OpenSM counts', 'ActCount')
CAPS = Entry(('smpquery portinfo',), 'CapMask:..0x<hex>', 'CapMask:..0x<hex>', 'a reason')
PART = Entry(('ibnodes',), '~(one)', '~()', 'a reason')


def test_ibsim_is_like_ibsim(make_fabric, start):
    one, two = record_both(start, make_fabric(TREE), kinds=(IBSIM, IBSIM))
    assert len(one) > 500
    # a request that was sent again is counted on the way, by ports and by OpenSM
    judgement = Judgement([e for e in differences.load() if e.reason.startswith(COUNTED)])
    assert judgement.add(one, two) == [], differences.show(judgement.unlisted)
    # and one planted byte is found, wherever it is
    for at in range(0, len(one), 97):
        planted = list(one)
        lines = list(planted[at].lines)
        lines[len(lines) // 2] += '1'
        planted[at] = planted[at]._replace(lines=lines)
        assert [d.what for d in Judgement([]).add(one, planted)] == [one[at].what]


def test_lines_are_set_side_by_side():
    one = [Answer('t', 'w', ['a: 1', 'b: 2', 'c: 3', 'only one'])]
    two = [Answer('t', 'w', ['a: 1', 'b: 5', 'x: 3', 'y'])]
    assert compare(one, [one[0]]) == []
    assert compare(one, two) == [Difference('t', 'w', 'b: 2', 'b: 5'),
                                 Difference('t', 'w', 'c: 3', 'x: 3'),
                                 Difference('t', 'w', 'only one', 'y')]
    assert compare(one, [Answer('t', 'w', one[0].lines[:3])]) == \
        [Difference('t', 'w', 'only one', NO_LINE)]
    with pytest.raises(ValueError):
        compare(one, [])


def test_an_entry_allows_no_more_than_it_says():
    def allowed(**other):
        d = Difference('smpquery portinfo', 'w', 'CapMask:..0x12', 'CapMask:..0xff')
        return differences.allows(CAPS, d._replace(**other))
    assert allowed()
    assert not allowed(tool='smpquery nodeinfo')
    assert not allowed(ibsim='CapMask:..0x')
    assert not allowed(heddle='CapMask:..0xff and more')
    assert not allowed(heddle='CapMask:...0xff')
    assert not allowed(heddle=NO_LINE)


def test_a_part_leaves_the_rest_equal():
    def allowed(one, two):
        return differences.allows(PART, Difference('ibnodes', 'w', one, two))
    assert allowed('a (one) b', 'a () b')
    assert not allowed('a (one) b', 'a () c')
    assert not allowed('a (one) (one)', 'a () ()')
    assert not allowed('a b', 'a b')


def test_entries_that_match_nothing_are_told():
    judgement = Judgement([CAPS])
    assert judgement.unused() == [(CAPS, 'smpquery portinfo')]
    judgement.add([Answer(CAPS.tools[0], 'w', ['CapMask:..0x1'])],
                  [Answer(CAPS.tools[0], 'w', ['CapMask:..0x2'])])
    assert judgement.unused() == [] and judgement.unlisted == []


def test_the_list_is_checked():
    good = '# a comment\n\ntool: t, u\nibsim: a\nheddle: b\nreason: c\n  d\n'
    assert parse(good) == [Entry(('t', 'u'), 'a', 'b', 'c d')]
    for bad in ('tool: t\nibsim: a\nheddle: b\n', good + 'more: x\n', good.replace('c\n  d', ''),
                'nonsense\n'):
        with pytest.raises(ValueError):
            parse(bad)
    for entry in differences.load():
        assert differences.reads_as_literal(entry.ibsim + entry.heddle), entry
