# SPDX-License-Identifier: BSD-2-Clause
"""Reads an ibsim net file, as `heddle fabric convert` writes it, into nodes and cables.

This is the lab's own small reader: it needs to know what ibsim will make of the file (ids, port
numbers), nothing more. Oddities of files in the wild are the converter's business.
"""
import re

from heddle_lab.errors import LabError

_NODE = re.compile(r'^(Switch|Ca|Hca|Rt|Router)\s+(\d+)\s+"([^"]+)"(?:\s*#\s*"([^"]*)")?', re.I)
_PORT = re.compile(r'^\[(\d+)\][^"]*"([^"]+)"\s*(?:\[(\d+)\])?')
_GUID = re.compile(r'^(switch|ca|hca|rt|router)guid\s*=\s*(0x[0-9a-fA-F]+)', re.I)


class Node:
    """A node of the fabric: cables maps a port number to (id of the peer, its port number)."""

    def __init__(self, node_id, is_switch, num_ports, description, guid):
        self.id = node_id
        self.is_switch = is_switch
        self.num_ports = num_ports
        self.description = description
        self.guid = guid
        self.cables = {}

    @property
    def is_aggregation(self):
        return not self.is_switch and 'ggregation' in self.description


class Net:
    """nodes: id -> Node, in the order of the file."""

    def __init__(self):
        self.nodes = {}

    @property
    def switches(self):
        return [n for n in self.nodes.values() if n.is_switch]

    @property
    def hosts(self):
        return [n for n in self.nodes.values() if not n.is_switch]

    def find(self, name):
        """The node with this id, else with this description, as ibsim looks; else LabError."""
        if name in self.nodes:
            return self.nodes[name]
        for node in self.nodes.values():
            if node.description == name:
                return node
        raise LabError(f'no node "{name}" in the fabric; give an id such as '
                       f'{next(iter(self.nodes))} or a description', 2)

    def links_of(self, node):
        """(port, peer node, peer port) of each cable whose other end exists."""
        for port, (peer_id, peer_port) in sorted(node.cables.items()):
            peer = self.nodes.get(peer_id)
            if peer is not None:
                yield port, peer, peer_port


def read_net(path):
    net = Net()
    node = None
    guid = None
    with open(path, encoding='utf-8', errors='replace') as lines:
        for line in lines:
            if m := _GUID.match(line):
                guid = int(m[2], 16)
            elif m := _NODE.match(line):
                node = Node(m[3], m[1].lower() == 'switch', int(m[2]), m[4] or m[3], guid)
                net.nodes[node.id] = node
                guid = None
            elif (m := _PORT.match(line)) and node is not None:
                node.cables[int(m[1])] = (m[2], int(m[3] or 1))
            elif not line.startswith('#'):
                node = None
    if not net.nodes:
        raise LabError(f'{path}: has no nodes', 2)
    _complete_cables(net)
    return net


def _complete_cables(net):
    """A cable may be written at one end only; ibsim joins both."""
    for node in list(net.nodes.values()):
        for port, peer, peer_port in list(net.links_of(node)):
            peer.cables.setdefault(peer_port, (node.id, port))
