"""What all tests need."""

import signal

# A shell starts what runs in the background with interrupts ignored, and Python leaves it at that; some tests send one.
signal.signal(signal.SIGINT, signal.default_int_handler)
