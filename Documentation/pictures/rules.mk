# SPDX-License-Identifier: MIT
#
# The pictures of the pages, beside their sources, since a forge shows them from the tree. Included by
# Documentation/rules.mk.

PICTURES := $(basename $(wildcard Documentation/pictures/*.dot))

pictures: $(PICTURES:%=%.svg) Documentation/pictures/make-run.svg
	@:

# By the checksum tests/docs finds a picture that is older than its source: what neato makes of a source
# differs from release to release.
Documentation/pictures/%.svg: Documentation/pictures/%.dot
	$(call step,NEATO)neato -Tsvg $< | sed -e '/^<!.*>$$/d' -e '/^<!/,/>$$/d' \
		-e "\$$a <!-- Made of $(<F) $$(sha256sum <$< | cut -c-64) -->" >$@

Documentation/pictures/make-run.svg: Documentation/pictures/make-run.cast Documentation/pictures/cast-to-svg
	$(call step,SVG)Documentation/pictures/cast-to-svg $< >$@

# Without KVM, so that the clock of the guest does not depend on the machine.
record: $(MODULE) tools
	env -u MAKELEVEL -u MAKEFLAGS PACCEL_ACCEL=tcg asciinema rec --quiet --overwrite --cols 86 --rows 40 \
		--title 'make run' --command 'make run' Documentation/pictures/make-run.cast
	@$(MAKE) --no-print-directory pictures
