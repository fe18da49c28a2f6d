"""The plain way to attempt a task: its messages go out once, the answer comes back."""

from __future__ import annotations

from tjbench.models.model import Model, ModelError, Request, Sampling
from tjbench.runner.attempt import Attempt
from tjbench.suites.task import Task


def attempt_single(task: Task, model: Model, sampling: Sampling, sample: int = 0) -> Attempt:
    """Asks ``model`` once; what the model cannot answer becomes an attempt with its trouble."""
    try:
        response = model.answer(request_of(task, sampling, sample))
    except ModelError as error:
        return Attempt.failed(task.id, sample, error)
    return Attempt.answered(task.id, sample, response)


def request_of(task: Task, sampling: Sampling, sample: int) -> Request:
    """What goes out for one sample of ``task``."""
    messages = tuple({"role": message.role, "content": message.content} for message in task.messages)
    return Request(task_id=task.id, sample=sample, messages=messages, sampling=sampling)
