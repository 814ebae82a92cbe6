"""How many cases hypothesis tries: the same 50 each time in ``make test``, 1,000 new ones in ``make test-long``."""

from hypothesis import HealthCheck, settings

settings.register_profile("long", deadline=None, max_examples=1000, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("usual", parent=settings.get_profile("long"), max_examples=50, derandomize=True)
settings.load_profile("usual")
