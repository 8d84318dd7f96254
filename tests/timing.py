"""How time grows with a text, whatever the machine."""

import gc
import time

MOST = 9  # 4 where time grows by the length, 16 by its square


def is_linear(act, size=100000):
    """Whether four times the size takes less than nine times as long, in one of three tries.
    Another process slows one of them, and each is of another size, as some results are kept. A
    twentieth of a second is added to each time, so that what takes none shows none."""

    def seconds(size):
        began = time.process_time()
        act(size)
        return time.process_time() - began + 0.05

    gc.freeze()  # a collection would walk what other tests have left, too
    try:
        return any(seconds(4 * n) < MOST * seconds(n) for n in range(size, size + 3_000, 1_000))
    finally:
        gc.unfreeze()
