# SPDX-License-Identifier: MIT
# extension.py LIBRARY LIBRARY: Python knows nothing of weft either. A callback of Python runs on a goroutine of the library.
import ctypes
import sys
import threading

first, second = (ctypes.CDLL(path) for path in sys.argv[1:3])
sums = [first.first_sum(1000), second.second_sum(1000)]
threads = [threading.Thread(target=lambda: sums.append(first.first_sum(100))) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for library, name in ((first, "first_spawns"), (second, "second_spawns")):
    getattr(library, name).restype = ctypes.c_ulonglong
one = first.first_spawns() == second.second_spawns() >= 2400
print(sum(sums), first.first_exception(), second.second_gives_way(), "one runtime" if one else "two runtimes")
