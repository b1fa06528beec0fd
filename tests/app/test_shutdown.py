"""A signal is heard between two steps, ends the work there, and leaves no trace."""

import os
import signal

import pytest

from dialint.app.shutdown import run_until_stopped

SIGNALS = (signal.SIGTERM, signal.SIGINT)


@pytest.mark.parametrize("signum", SIGNALS)
def test_what_is_under_way_is_finished(signum: int) -> None:
    before = [signal.getsignal(one) for one in SIGNALS]
    done = []
    with run_until_stopped() as rest:
        rest(0.0)
        os.kill(os.getpid(), signum)
        done.append("the step at hand")
        rest(3600.0)
        done.append("the next step")
    assert done == ["the step at hand"]
    assert [signal.getsignal(one) for one in SIGNALS] == before


def test_who_waits_is_woken() -> None:
    earlier = signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    try:
        with run_until_stopped() as rest:
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            rest(3600.0)
            pytest.fail("it went on")
    finally:
        signal.signal(signal.SIGALRM, earlier)


def test_a_second_signal_does_what_it_would_do_without_us() -> None:
    earlier = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    try:
        with run_until_stopped():
            os.kill(os.getpid(), signal.SIGTERM)
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, earlier)


def test_other_errors_pass() -> None:
    with pytest.raises(ZeroDivisionError), run_until_stopped():
        print(1 / 0)
