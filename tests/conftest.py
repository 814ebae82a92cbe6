"""How many cases hypothesis tries: 50 in ``make test``, 1,000 in ``make test-long``."""

from hypothesis import HealthCheck, settings

settings.register_profile("usual", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("long", parent=settings.get_profile("usual"), max_examples=1000)
settings.load_profile("usual")
