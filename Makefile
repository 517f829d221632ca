# Everything a person or CI runs. Each target does all that it needs, on a fresh machine too.
SHELL := /bin/bash
# The packages' own Node (24) comes first, whatever the machine has.
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
PLAN ?= upgrade
OUT ?= out

.PHONY: help rehearse test test-fast lint format bench toolchain check-artefacts clean

help: ## what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

rehearse: node_modules/.ready toolchain ## take a real cluster through a whole plan on this machine (PLAN=upgrade, OUT=out)
	@node lab/rehearsal/main.ts --plan $(PLAN) --out $(OUT)

test: node_modules/.ready toolchain ## every test, also those on a real engine and real clusters
	@vitest run

test-fast: node_modules/.ready ## the tests that need neither toolchain nor lab, in under a minute
	@vitest run --project fast

lint: node_modules/.ready ## types, lint, format, walls between the parts
	@npm run --silent lint

format: node_modules/.ready ## mend what a machine can mend
	@npm run --silent format

bench: node_modules/.ready toolchain ## measure what is claimed about speed, as ratios of one run
	@node bench/main.ts

check-artefacts: node_modules/.ready ## are the artefacts in OUT there, right and unchanged?
	@node commands/check-artefacts.ts --out $(OUT)

toolchain: node_modules/.ready ## find or build every program that the lab runs
	@node toolchain/cli.ts ensure

clean: ## remove packages, labs and artefacts (not the toolchain's cache)
	rm -rf node_modules lab/node_modules .lab out

# Scripts of packages are not run: nothing is fetched but what the lockfile names by checksum.
node_modules/.ready: package.json package-lock.json lab/package.json toolchain/package.json
	@command -v npm >/dev/null || { echo "Node.js with npm is missing: install Node.js 24 (or any from 20; 24 then comes with the packages on Linux)."; exit 1; }
	@echo "installing packages (npm ci)"
	@npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@node -e 'if (+process.versions.node.split(".")[0] < 24) { console.error("Node.js 24 or newer is needed, found " + process.version + "; no package brings it for this platform: install it."); process.exit(1) }'
	@touch $@
