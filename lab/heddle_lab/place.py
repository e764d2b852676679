# SPDX-License-Identifier: BSD-2-Clause
"""Chooses the hosts for the shards: leaves of different pods, evenly, a host of its own each."""
from collections import deque

from heddle_lab.errors import Refused


def usable_hosts(net):
    """Hosts that a client of ibsim can attach to: by their first port, which must be cabled."""
    return [n for n in net.hosts if not n.is_aggregation and 1 in n.cables
            and n.cables[1][0] in net.nodes]


def leaf_of(net, host):
    return net.nodes[host.cables[1][0]]


def ranks(net):
    """switch id -> distance from the nearest leaf (a switch with hosts)."""
    rank = {}
    queue = deque()
    for host in usable_hosts(net):
        leaf = leaf_of(net, host)
        if leaf.is_switch and leaf.id not in rank:
            rank[leaf.id] = 0
            queue.append(leaf)
    while queue:
        switch = queue.popleft()
        for _, peer, _ in net.links_of(switch):
            if peer.is_switch and peer.id not in rank:
                rank[peer.id] = rank[switch.id] + 1
                queue.append(peer)
    return rank


def pods(net):
    """Lists of switch ids that hang together without the tops, in the order of the file."""
    rank = ranks(net)
    top = max(rank.values(), default=0)
    inner = [s for s in net.switches if s.id in rank and (rank[s.id] < top or top == 0)]
    members = {s.id for s in inner}
    seen = set()
    found = []
    for start in inner:
        if start.id in seen:
            continue
        pod, queue = [], deque([start])
        seen.add(start.id)
        while queue:
            switch = queue.popleft()
            pod.append(switch.id)
            for _, peer, _ in net.links_of(switch):
                if peer.id in members and peer.id not in seen:
                    seen.add(peer.id)
                    queue.append(peer)
        found.append(pod)
    return found


def _leaves_of_pods(net):
    """For each pod with hosts: its leaves, each a list of hosts."""
    by_leaf = {}
    for host in usable_hosts(net):
        by_leaf.setdefault(leaf_of(net, host).id, []).append(host)
    leaves = [[by_leaf[s] for s in pod if s in by_leaf] for pod in pods(net)]
    leaves = [pod for pod in leaves if pod]
    return leaves or [[usable_hosts(net)]]


def place(net, names, fixed):
    """name -> node id for each of names. fixed: what --at asked for, name -> node id."""
    placed = {}
    for name, where in fixed.items():
        if name not in names:
            raise Refused(f'--at {name}: there is no such daemon; there are {", ".join(names)}')
        node = net.find(where)
        if node.is_switch:
            raise Refused(f'--at {name}={where}: that is a switch; a shard runs on a host')
        if 1 not in node.cables:
            raise Refused(f'--at {name}={where}: its port 1 has no cable')
        if node.id in placed.values():
            raise Refused(f'--at {name}={where}: another daemon is there')
        placed[name] = node.id
    rest = [n for n in names if n not in placed]
    if len(usable_hosts(net)) - len(placed) < len(rest):
        raise Refused(f'{len(names)} shards need as many hosts with a cable on port 1; '
                      f'the fabric has {len(usable_hosts(net))}')
    leaves = _leaves_of_pods(net)
    for i, name in enumerate(rest):
        placed[name] = _pick(leaves, i * len(leaves) // len(rest), i, placed.values())
    return placed


def _pick(leaves, pod, turn, taken):
    """The first free host of the pod, each turn from another leaf; else of the pods behind it."""
    for p in range(len(leaves)):
        inside = leaves[(pod + p) % len(leaves)]
        for k in range(len(inside)):
            for host in inside[(turn + k) % len(inside)]:
                if host.id not in taken:
                    return host.id
    raise Refused('no free host is left')
