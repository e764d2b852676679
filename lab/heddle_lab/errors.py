# SPDX-License-Identifier: BSD-2-Clause
"""What goes wrong: one clear line for the user and an exit status."""


class LabError(Exception):
    """status 1: it was tried and failed; 2: it was asked wrongly or refused."""

    def __init__(self, message, status=1):
        super().__init__(message)
        self.status = status


class Refused(LabError):
    def __init__(self, message):
        super().__init__(message, 2)
