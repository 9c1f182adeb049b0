# SPDX-License-Identifier: MIT
"""The benchmark harness: python3, standard library only. bench/run is its command."""
