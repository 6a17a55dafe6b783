# The front door. Meson does the building; see CONTRIBUTING.md.
.PHONY: all build setup run try test soak bench check install uninstall format clean
.DEFAULT_GOAL := all

BUILD := build
TRIBUNAL := $(BUILD)/src/cli/tribunal
WERROR := $(if $(CI),--werror)

all: build

$(BUILD)/build.ninja:
	@dev/setup build
	@meson setup $(BUILD) $(WERROR) >$(BUILD)-setup.log 2>&1 || { cat $(BUILD)-setup.log; exit 1; }
	@rm -f $(BUILD)-setup.log

build: $(BUILD)/build.ninja
	@dev/setup build
	@ninja -C $(BUILD) $(if $(V),-v,--quiet)

EXAMPLE := examples/problems/a-plus-b

run: build
	@exec $(TRIBUNAL) serve --demo $(ARGS)

# Two verdicts without a server.
try: build
	@echo "What this machine gives the sandbox (tribunal doctor):" && $(TRIBUNAL) doctor; echo
	@echo "A right solution (tribunal judge $(EXAMPLE)/submissions/accepted/sum.cpp -p $(EXAMPLE)):"
	@$(TRIBUNAL) judge $(EXAMPLE)/submissions/accepted/sum.cpp -p $(EXAMPLE)
	@echo; echo "A wrong one (the same with wrong_answer/difference.cpp):"
	@$(TRIBUNAL) judge $(EXAMPLE)/submissions/wrong_answer/difference.cpp -p $(EXAMPLE); [ $$? -eq 1 ]

test:
	@dev/setup test langs
	@$(MAKE) --no-print-directory build
	@dev/test $(if $(AGAIN),--again) $(SUITES)

soak:
	@TRIBUNAL_SOAK=1 $(MAKE) --no-print-directory test check

check:
	@dev/setup test langs
	@$(MAKE) --no-print-directory build
	@dev/test $(if $(AGAIN),--again) checks

bench: build
	@$(TRIBUNAL) bench all

# PREFIX (/usr/local) and DESTDIR as everywhere.
install: $(BUILD)/build.ninja
	@$(if $(PREFIX),meson configure $(BUILD) '-Dprefix=$(PREFIX)')
	@$(MAKE) --no-print-directory build
	@DESTDIR='$(DESTDIR)' meson install -C $(BUILD) --no-rebuild --quiet
	@$(if $(DESTDIR),,$(TRIBUNAL) lang warm || echo "no precompiled headers: compiling C++ will take twice as long")

# What the last `make install` of this folder put there.
uninstall:
	@ninja -C $(BUILD) --quiet uninstall

format:
	@git ls-files --cached --others --exclude-standard '*.[ch]' | xargs clang-format -i

clean:
	@rm -rf $(BUILD)
