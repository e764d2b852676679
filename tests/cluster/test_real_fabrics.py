# SPDX-License-Identifier: BSD-2-Clause
"""Each of the real fabrics, where they are to be had."""
import os

import pytest
from conftest import fabrics_dir

FABRICS = ('small-qdr-144.net', 'rail-ndr-542.net', 'rail-dgx-140.net', 'director-edr-1470.net')


@pytest.mark.parametrize('name', FABRICS)
def test_a_real_fabric_comes_up_and_survives(make_cluster, name):
    path = os.path.join(fabrics_dir(), name)
    if not os.path.exists(path):
        pytest.skip(f'{path} is absent; set HEDDLE_FABRICS')
    cluster = make_cluster(path, 3)
    print(f'{name}: {cluster.converge():.2f} s')
    cluster.expect_whole()
    assert cluster.records() == len(cluster.scan().ports)
    cluster.trace(200)
    cluster.check_routes()
    takeover = cluster.kill_and_judge('shard-2')
    assert takeover.problems == [], cluster.logs()
    print(f'{name}: takeover of {len(takeover.taken)} ports in {takeover.ms:.0f} ms')
    cluster.converge()
    cluster.lab('down')
