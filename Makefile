# Everything a newcomer or CI types. The work is done by cargo and by the small scripts in scripts/.

.DEFAULT_GOAL := help
.PHONY: help demo gallery slow-service test test-all lint bench instructions fuzz grid mutants clean

help: ## this list
	@printf 'Samovar: an output cache that explains itself; thirst: the load tester beside it.\n\n'
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile
	@printf '\nNeeds a Rust toolchain (1.95 or newer); what else is missing is installed, saying so.\n'

demo: ## measure a slow handler, add one rule, measure again, ask why (KEEP=1 leaves it running)
	@bash scripts/demo.sh

gallery: ## a PHP gallery behind php-fpm: a static page, uncached, in memory, hot (SHORT=1 takes seconds)
	@bash scripts/gallery.sh

slow-service: ## a slow service, and the limits that bind one after the other (SHORT=1 takes seconds)
	@bash scripts/slow-service.sh

test: ## everything CI runs: format, lints, all tests
	@bash scripts/test.sh

test-all: ## test, then the slow ones: many more property cases, a minute of fuzzing per target
	@bash scripts/test.sh
	@bash scripts/test-more.sh

lint: ## format and lints only
	@bash scripts/test.sh lint

bench: ## measure beside other servers, into bench/runs/
	@bash scripts/bench.sh

instructions: ## count what a hot answer costs, exactly, and compare with the accepted figure
	@bash scripts/instructions.sh

fuzz: ## fuzz every target for FUZZ_SECONDS (60) each
	@bash scripts/fuzz.sh

grid: ## requests that two servers may read differently, through Samovar, to nine real origins (minutes)
	@bash scripts/grid.sh

mutants: ## plant faults in what decides, and see whether the tests notice (an hour)
	@bash scripts/mutants.sh

clean: ## remove everything built
	@cargo clean
