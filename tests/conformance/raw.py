# SPDX-License-Identifier: BSD-2-Clause
"""Every attribute of every port, byte by byte, by heddle-mad-client: what a tool does not print or
a sample leaves out is compared as well."""
import os

from tools import Answer

WINDOW = 32
SM_INFO_NODES = 64  # ibsim's hosts do not answer it: each is a time-out
TIMEOUT_MS = 2000
SMP, DIRECTED, PMA = 0x01, 0x81, 0x04
NODE_DESC, NODE_INFO, SWITCH_INFO = 0x10, 0x11, 0x12
GUID_INFO, PORT_INFO, PKEY_TABLE, SL2VL, VLARB = 0x14, 0x15, 0x16, 0x17, 0x18
LFT, MFT, SM_INFO, MLNX_PORT = 0x19, 0x1b, 0x20, 0xff90
NAMES = {NODE_DESC: 'NodeDescription', NODE_INFO: 'NodeInfo', SWITCH_INFO: 'SwitchInfo',
         GUID_INFO: 'GUIDInfo', PORT_INFO: 'PortInfo', PKEY_TABLE: 'P_KeyTable', SL2VL: 'SLtoVL',
         VLARB: 'VLArbitration', LFT: 'LFT', MFT: 'MFT', SM_INFO: 'SMInfo',
         MLNX_PORT: 'MlnxExtPortInfo'}
WORD = 8  # hexadecimal digits
EXTENDED = 1 << 31  # PortInfo with extended speeds (IBA 14.2.5.6)


def client(build):
    return os.path.join(build, 'bin', 'heddle-mad-client')


def requests(fabric, routes, top_lid):
    """(name, line for the client) in the order of the routes."""
    for number, (node_id, route) in enumerate(routes.items()):
        node = fabric.net.nodes[node_id]
        path = ','.join(map(str, route))
        wanted = list(_of(node, top_lid))
        if number < SM_INFO_NODES:
            wanted.append((SM_INFO, 0))
        for attribute, modifier in wanted:
            yield (f'{NAMES[attribute]} {modifier:#x} of {node_id}',
                   f'get {DIRECTED} {path} {attribute} {modifier} 0')


def _of(node, top_lid):
    yield from ((NODE_DESC, 0), (NODE_INFO, 0), (GUID_INFO, 0), (GUID_INFO, 1))
    ports = range(0 if node.is_switch else 1, node.num_ports + 1)
    for port in ports:
        yield from ((PORT_INFO, port), (PORT_INFO, EXTENDED | port), (MLNX_PORT, port))
        yield from ((VLARB, block << 16 | port) for block in (1, 2, 3, 4))
        if node.is_switch:
            yield (PKEY_TABLE, port << 16)
            yield from ((SL2VL, inward << 8 | port) for inward in (0, 1, port))
        else:
            yield from ((PKEY_TABLE, 0), (PKEY_TABLE, 1), (SL2VL, 0))
    if node.is_switch:
        yield (SWITCH_INFO, 0)
        yield from ((LFT, block) for block in range(top_lid // 64 + 2))
        yield from ((MFT, position << 28 | block)
                    for position in range(node.num_ports // 16 + 1) for block in (0, 1))
    else:
        yield from ((SWITCH_INFO, 0), (LFT, 0), (MFT, 0))  # a CA has none: a status


def collect(sim, fabric, routes, lids, build):
    """An Answer for each request: a line a field or a word, so that a difference has a place."""
    wanted = list(requests(fabric, routes, max(lids.values())))
    text = ''.join(line + '\n' for _, line in wanted)
    done = sim.run(fabric.client, client(build), '-w', str(WINDOW), '-t', str(TIMEOUT_MS),
                   timeout_s=600, text=text)
    sim.check_alive()
    if done.returncode != 0:
        return [Answer('raw', 'heddle-mad-client', [done.stderr, f'exit {done.returncode}'])]
    return [Answer(f'raw {name.split()[0]}', name, _lines(line, name.split()[0]))
            for (name, _), line in zip(wanted, done.stdout.splitlines(), strict=True)]


# PortInfo (IBA 14.2.5.6): (name, first bit, bits)
PORT_INFO_FIELDS = (
    ('M_Key', 0, 64), ('GidPrefix', 64, 64), ('LID', 128, 16), ('MasterSMLID', 144, 16),
    ('CapabilityMask', 160, 32), ('DiagCode', 192, 16), ('M_KeyLeasePeriod', 208, 16),
    ('LocalPortNum', 224, 8), ('LinkWidthEnabled', 232, 8), ('LinkWidthSupported', 240, 8),
    ('LinkWidthActive', 248, 8), ('LinkSpeedSupported', 256, 4), ('PortState', 260, 4),
    ('PortPhysicalState', 264, 4), ('LinkDownDefaultState', 268, 4), ('M_KeyProtectBits', 272, 2),
    ('Reserved1', 274, 3), ('LMC', 277, 3), ('LinkSpeedActive', 280, 4),
    ('LinkSpeedEnabled', 284, 4), ('NeighborMTU', 288, 4), ('MasterSMSL', 292, 4),
    ('VLCap', 296, 4), ('InitType', 300, 4), ('VLHighLimit', 304, 8), ('VLArbHighCap', 312, 8),
    ('VLArbLowCap', 320, 8), ('InitTypeReply', 328, 4), ('MTUCap', 332, 4),
    ('VLStallCount', 336, 3), ('HOQLife', 339, 5), ('OperationalVLs', 344, 4),
    ('PartitionEnforcement', 348, 2), ('FilterRaw', 350, 2), ('M_KeyViolations', 352, 16),
    ('P_KeyViolations', 368, 16), ('Q_KeyViolations', 384, 16), ('GUIDCap', 400, 8),
    ('ClientReregister', 408, 1), ('McastPKeyTrapSuppression', 409, 2), ('SubnetTimeOut', 411, 5),
    ('Reserved2', 416, 3), ('RespTimeValue', 419, 5), ('LocalPhyErrors', 424, 4),
    ('OverrunErrors', 428, 4), ('MaxCreditHint', 432, 16), ('Reserved3', 448, 8),
    ('LinkRoundTripLatency', 456, 24), ('CapabilityMask2', 480, 16),
    ('LinkSpeedExtActive', 496, 4), ('LinkSpeedExtSupported', 500, 4), ('Reserved4', 504, 3),
    ('LinkSpeedExtEnabled', 507, 5))


def _fields(data, table):
    value, bits = int(data, 16), 4 * len(data)
    for name, first, width in table:
        number = value >> bits - first - width & (1 << width) - 1
        yield f'{name}: {number:x}'


def _lines(answer, name):
    fields = answer.split()
    if fields[0] == 'silent':
        return ['silent']
    _, status, method, m_key, data = fields
    if int(status, 16) != 0:
        # what an attribute holds in an answer that says no is open
        return [f'status: {status}']
    head = [f'method: {method}', f'm_key: {m_key}']
    if name == NAMES[PORT_INFO]:
        return head + list(_fields(data, PORT_INFO_FIELDS))
    return head + [
        f'byte {at // 2}: {data[at:at + WORD]}' for at in range(0, len(data), WORD)]
