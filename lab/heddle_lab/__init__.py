# SPDX-License-Identifier: BSD-2-Clause
"""The parts of `heddle lab`; see README.md for the reading order."""
