# make run     the dashboard, on http://127.0.0.1:8501; make run RECORDING=file   the same, opened on a recording
# make test    every test, the linter and the type checker
# make test-long   the hypothesis tests with 1,000 cases each
# make checkpoints   how each model in checkpoints/ is trained anew: the commands of their cards
# make bench   speed, as ratios; prints tables
# make screenshot    the pictures in README.md, made anew
PYTHON ?= python3
PIP_OPTIONS ?=
RECORDING ?= $(HEADLIGHT_RECORDING)

.PHONY: run test test-long checkpoints bench screenshot

run: .venv/installed
	HEADLIGHT_RECORDING="$(RECORDING)" .venv/bin/streamlit run dashboard/app.py

test: .venv/installed-dev
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	OMP_NUM_THREADS=1 .venv/bin/python -m pytest -n 2 --dist worksteal

test-long: .venv/installed-dev
	.venv/bin/python -m pytest --hypothesis-profile=long --timeout=3600 tests/transformer tests/dashboard

checkpoints:
	@awk 'FNR == 1 { print FILENAME; made = 0 } /^## / { made = /How it was made/ } made && /^    /' checkpoints/*/README.md

bench: .venv/installed-dev
	PYTHONPATH=.:tests/browser .venv/bin/python tests/bench/recording_cost.py
	PYTHONPATH=.:tests/browser .venv/bin/python tests/bench/slider_to_picture.py
	PYTHONPATH=. .venv/bin/python tests/bench/long_texts.py
	PYTHONPATH=. .venv/bin/python tests/bench/training_throughput.py
	PYTHONPATH=. .venv/bin/python tests/bench/decoding_speed.py
	PYTHONPATH=. .venv/bin/python tests/bench/foreign_recording.py

screenshot: .venv/installed-dev
	PYTHONPATH=.:tests/browser .venv/bin/python tests/browser/screenshot.py

.venv/installed: requirements.txt
	test -x .venv/bin/python || $(PYTHON) -m venv .venv
	.venv/bin/python -m pip install --quiet $(PIP_OPTIONS) -r requirements.txt
	touch $@

.venv/installed-dev: requirements-dev.txt .venv/installed
	.venv/bin/python -m pip install --quiet $(PIP_OPTIONS) -r requirements-dev.txt
	touch $@
