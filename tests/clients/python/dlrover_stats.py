# SPDX-License-Identifier: MIT
"""DLRover: its monitor reads the memory of all devices with the module acl."""

import accel
from dlrover.python.elastic_agent.monitor.resource import get_hpu_stats


def memory_of_all_cards():
    """DLRover finds all devices and their memory"""
    wanted = []
    for index in range(accel.count()):
        with accel.open(index) as card:
            wanted.append((index, card.stats().total))
    # It calls them MB, and they are bytes.
    found = [(stats.index, stats.total_memory_mb) for stats in get_hpu_stats()]
    if found != wanted or len(wanted) < 2:
        raise AssertionError(f"{found} is not {wanted}")


def memory_in_use():
    """DLRover sees what is allocated"""
    with accel.open(0) as card:
        card.allocate(card.info().memory_size // 2)
        used = get_hpu_stats()[0].used_memory_mb
        if used != card.stats().used:
            raise AssertionError(f"{used} bytes are not {card.stats().used}")


CHECKS = (memory_of_all_cards, memory_in_use)
