#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Write an ibsim net file of a two-level fat tree: LEAVES SPINES HOSTS_A_LEAF."""

import sys


def main() -> None:
    leaves, spines, hosts = (int(a) for a in sys.argv[1:4])
    ports = max(hosts + spines, leaves)
    for s in range(spines):
        print(f'Switch {ports} "spine-{s}" "spine-{s}"')
        for leaf in range(leaves):
            print(f'[{leaf + 1}] "leaf-{leaf}"[{hosts + s + 1}]')
        print()
    for leaf in range(leaves):
        print(f'Switch {ports} "leaf-{leaf}" "leaf-{leaf}"')
        for h in range(hosts):
            print(f'[{h + 1}] "host-{leaf}-{h}"[1]')
        for s in range(spines):
            print(f'[{hosts + s + 1}] "spine-{s}"[{leaf + 1}]')
        print()
    for leaf in range(leaves):
        for h in range(hosts):
            print(f'Hca 1 "host-{leaf}-{h}" "host-{leaf}-{h}"')
            print(f'[1] "leaf-{leaf}"[{h + 1}]\n')


main()
