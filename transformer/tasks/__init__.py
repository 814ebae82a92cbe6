"""What there is to learn: texts from files, and tasks on letters that are drawn without end."""

from transformer.tasks.letters import LETTER_TASKS, LetterTask
from transformer.tasks.task import Task, Texts
from transformer.tasks.texts import language_model, translate

__all__ = ["LETTER_TASKS", "LetterTask", "Task", "Texts", "language_model", "translate"]
