"""Where work is done: in processes of this interpreter, or on a Ray cluster.

An engine takes tasks, each a number, a name and a text, and gives an iterator of answers in any order: the
number, and what came out or what is wrong. A task whose worker is lost is done again.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Sized
from typing import TYPE_CHECKING, Any, Callable, Literal, Optional

from fairlane import _native
from fairlane.errors import FairlaneError, MissingError

if TYPE_CHECKING:
    _Task = tuple[int, str, str]
    _Wrong = tuple[str, str]
    _Answer = tuple[int, Optional[str], Optional[_Wrong]]

    #: Where work is done.
    _Engine = Literal["threads", "processes", "ray"]

    #: What is done with a task.
    _Kind = Literal["measure", "solve"]

__all__ = ["choose", "perform"]


#: A task that costs so many workers is at fault itself.
_MOST_LOSSES = 3
#: Seconds between looks at whether a signal has arrived.
_PATIENCE = 0.1
#: Tasks that wait on a cluster for each processor, so that none is idle.
_AHEAD = 2
#: Bytes of memory that a task on a cluster is taken to need: a run of some hundred hosts.
_MEMORY = 256 << 20


def perform(kind: _Kind, text: str) -> tuple[Optional[str], Optional[_Wrong]]:
    """Do a task here: give what came out, or message and hint."""
    try:
        if kind == "measure":
            return _native.measure(text), None
        document, place, asked, start = json.loads(text)
        return _native.solve_document(document, place, tuple(asked), start), None
    except FairlaneError as error:
        return None, (error.message, error.hint or "")
    except _native.ProblemError as error:
        return None, (str(error), "")


def choose(
    engine: _Engine,
    kind: _Kind,
    *,
    workers: Optional[int],
    address: Optional[str],
    memory: Optional[int],
) -> Optional[Callable[[Iterable[_Task]], Iterator[_Answer]]]:
    """Give the engine of a name; nothing for threads, which are those of the native part."""
    if workers is not None and workers < 1:
        raise FairlaneError(f"{workers} can't do any work", "workers", "expected at least 1")
    if engine != "ray" and (address is not None or memory is not None):
        hint = 'leave them out, or say engine="ray"'
        raise FairlaneError(f"engine {engine!r} has neither address nor memory", "engine", hint)
    if engine == "threads":
        return None
    if engine == "processes":
        return lambda tasks: _processes(kind, tasks, workers or _processors())
    if engine == "ray":
        return lambda tasks: _ray(kind, tasks, workers, address, memory)
    raise FairlaneError(
        f"there is no engine {engine!r}", "engine", 'expected "threads", "processes" or "ray"'
    )


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _lost(name: str, how: str) -> _Wrong:
    message = f"{name}: its worker was lost {_MOST_LOSSES} times, the last time {how}"
    return message, "does it need more memory than there is? Fewer workers leave more for each"


class _Worker:
    """A process of this interpreter that answers line by line."""

    def __init__(self) -> None:
        if not sys.executable:
            hint = 'use engine="threads"'
            raise FairlaneError("this interpreter has no program to start", "engine", hint)
        paths = os.pathsep.join(path for path in sys.path if path)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "fairlane._worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": paths},
        )

    def ask(self, kind: _Kind, text: str) -> tuple[Optional[str], Optional[_Wrong]]:
        """Give its answer.

        Raises:
            EOFError: It is gone.
        """
        assert self._process.stdin and self._process.stdout
        try:
            self._process.stdin.write(json.dumps([kind, text]).encode() + b"\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except (OSError, ValueError) as error:
            raise EOFError(str(error)) from error
        if not line.endswith(b"\n"):
            raise EOFError(f"with exit status {self._process.wait()}")
        result, wrong = json.loads(line)
        return result, wrong and (wrong[0], wrong[1])

    def kill(self) -> None:
        """End it, whatever it is doing."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Release what is left of it, once nobody asks it any more."""
        self.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            try:
                if pipe:
                    pipe.close()
            except OSError:
                pass


class _Pool:
    """Threads with a worker each, which take tasks from one queue."""

    def __init__(self, kind: _Kind, tasks: Iterable[_Task], count: int) -> None:
        self._kind = kind
        self._tasks = iter(tasks)
        self._lock = threading.Lock()
        self._stopped = False
        self._workers: set[_Worker] = set()
        self.answers: queue.Queue[Any] = queue.Queue()
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def _work(self) -> None:
        """Do tasks until there are none; says None at the end, or what went wrong."""
        worker = None
        try:
            while task := self._take():
                number, name, text = task
                for losses in range(1, _MOST_LOSSES + 1):
                    worker = worker or self._begin()
                    if worker is None:
                        return
                    try:
                        answer = worker.ask(self._kind, text)
                        break
                    except EOFError as error:
                        self._end(worker)
                        worker = None
                        answer = None, _lost(name, str(error))
                self.answers.put((number, *answer))
            self.answers.put(None)
        except BaseException as error:
            self.answers.put(error)
        finally:
            if worker:
                self._end(worker)

    def _take(self) -> Optional[_Task]:
        with self._lock:
            return None if self._stopped else next(self._tasks, None)

    def _begin(self) -> Optional[_Worker]:
        with self._lock:
            if self._stopped:
                return None
            worker = _Worker()
            self._workers.add(worker)
            return worker

    def _end(self, worker: _Worker) -> None:
        with self._lock:
            self._workers.discard(worker)
        worker.close()

    def stop(self) -> None:
        """End all workers, whatever they are doing."""
        with self._lock:
            self._stopped = True
            for worker in self._workers:
                worker.kill()
        for thread in self._threads:
            thread.join()


def _processes(kind: _Kind, tasks: Iterable[_Task], count: int) -> Iterator[_Answer]:
    length = len(tasks) if isinstance(tasks, Sized) else count
    pool = _Pool(kind, tasks, max(1, min(count, length)))
    busy = len(pool._threads)
    try:
        while busy:
            try:
                answer = pool.answers.get(timeout=_PATIENCE)
            except queue.Empty:
                continue
            if answer is None:
                busy -= 1
            elif isinstance(answer, BaseException):
                raise answer
            else:
                yield answer
    finally:
        pool.stop()


def _ray(
    kind: _Kind,
    tasks: Iterable[_Task],
    workers: Optional[int],
    address: Optional[str],
    memory: Optional[int],
) -> Iterator[_Answer]:
    try:
        import ray
    except ImportError as error:
        raise MissingError("ray isn't installed", "engine", "pip install ray") from error
    ours = not ray.is_initialized()
    if ours:
        ray.init(address=address, log_to_driver=False)
    try:
        yield from _on_cluster(ray, kind, tasks, workers, memory)
    finally:
        if ours:
            ray.shutdown()


def _on_cluster(
    ray: Any, kind: _Kind, tasks: Iterable[_Task], workers: Optional[int], memory: Optional[int]
) -> Iterator[_Answer]:
    """Keep tasks ahead of the workers; losses that Ray doesn't mend itself are mended here."""
    memory = _MEMORY if memory is None else memory
    most_memory = max((node["Resources"].get("memory", 0) for node in ray.nodes()), default=0)
    if memory > most_memory:
        message = f"no node has {memory} bytes of memory, the largest has {most_memory:.0f}"
        raise FairlaneError(message, "memory", "say how many bytes a run needs: memory=...")
    remote = ray.remote(perform).options(num_cpus=1, memory=memory, max_retries=_MOST_LOSSES)
    source = iter(tasks)
    losses: dict[int, int] = {}
    pending: dict[Any, _Task] = {}
    try:
        while True:
            most = workers or _AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
            while len(pending) < most and (task := next(source, None)):
                pending[remote.remote(kind, task[2])] = task
            if not pending:
                return
            ready, _ = ray.wait(list(pending), num_returns=1, timeout=_PATIENCE)
            for reference in ready:
                number, name, text = task = pending.pop(reference)
                try:
                    result, wrong = ray.get(reference)
                except ray.exceptions.RayTaskError as error:
                    hint = f"nodes need fairlane {_native.__version__}, too"
                    result, wrong = None, (f"{name}: {error.cause!r}", hint)
                except ray.exceptions.RayError as error:
                    losses[number] = losses.get(number, 0) + 1
                    if losses[number] < _MOST_LOSSES:
                        pending[remote.remote(kind, text)] = task
                        continue
                    result, wrong = None, _lost(name, f"with {type(error).__name__}")
                yield number, result, wrong
    finally:
        for reference in pending:
            ray.cancel(reference, force=True)
