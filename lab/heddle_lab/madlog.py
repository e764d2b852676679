# SPDX-License-Identifier: BSD-2-Clause
"""Reads the MAD logs of libheddle-umad (format: sim/README.md)."""
from collections import namedtuple

CLASS_LID = 0x01
CLASS_DIRECT = 0x81
GET, SET, GET_RESPONSE = 0x01, 0x02, 0x81
PORT_INFO, LFT, SM_INFO = 0x0015, 0x0019, 0x0020

Mad = namedtuple('Mad', 'ns kind cls method attribute modifier tid target status extra')


def parse(line):
    """A Mad, or None for a comment or a line that is cut."""
    fields = line.split()
    if len(fields) < 9 or fields[0].startswith('#'):
        return None
    try:
        return Mad(int(fields[0]), fields[1], int(fields[2], 16), int(fields[3], 16),
                   int(fields[4], 16), int(fields[5], 16), int(fields[6], 16), fields[7],
                   int(fields[8], 16), dict(f.split('=', 1) for f in fields[9:]))
    except ValueError:
        return None


def read(path, since_ns=0):
    """All of a log from a moment on."""
    try:
        with open(path, encoding='ascii', errors='replace') as lines:
            for line in lines:
                mad = parse(line)
                if mad is not None and mad.ns >= since_ns:
                    yield mad
    except FileNotFoundError:
        return


def is_smp(mad, method, attribute):
    return (mad.cls in (CLASS_LID, CLASS_DIRECT) and mad.method == method
            and mad.attribute == attribute)


def sets_sent(mads, attribute):
    """The Sets of this attribute that were handed to the simulator."""
    return [m for m in mads if m.kind == 'tx' and is_smp(m, SET, attribute)]


def port_sets_answered(mads):
    """(request, answer) of each Set(PortInfo) that was answered with status 0."""
    open_requests = {}
    found = []
    for mad in mads:
        if mad.kind == 'tx' and is_smp(mad, SET, PORT_INFO):
            open_requests[mad.tid & 0xffffffff] = mad
        elif mad.kind == 'rx' and is_smp(mad, GET_RESPONSE, PORT_INFO) and \
                mad.status & 0x7fff == 0:
            request = open_requests.pop(mad.tid & 0xffffffff, None)
            if request is not None:
                found.append((request, mad))
    return found
