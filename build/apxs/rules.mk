# SPDX-License-Identifier: Apache-2.0
# For makefiles of modules that include the server's rules (GNU make). They name what is to be made in TARGETS and `shared`,
# sub-folders in SUBDIRS, what more there is to install or clean in *_TARGETS, and have `x-local-*` rules where they like.
# A module is x.la there, an object file x.slo, as with libtool; of these x.so and x.lo beside them are the real ones.

brigade_apxs := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))../../../bin/brigade-apxs)

# What `brigade-apxs -q` tells goes by the same names here. What the makefile set before stays: it includes this first or last.
# It is asked once: a word for each, with another character for spaces.
brigade_space := $(shell printf '\001')
brigade_told := $(shell $(brigade_apxs) -q | sed -n '/^[A-Za-z_]*=/p' | tr ' ' '\001')
brigade_value = $(subst $(brigade_space), ,$(patsubst $(1)=%,%,$(filter $(1)=%,$(brigade_told))))
brigade_settings := $(foreach setting,$(brigade_told),$(firstword $(subst =, ,$(setting))))
brigade_known := $(filter-out CC CXX CPP SHELL DEFS INCLUDES LIBS LDFLAGS CFLAGS CPPFLAGS CXXFLAGS,$(brigade_settings))
define brigade_setting
ifeq ($$(origin exp_$(1)),undefined)
exp_$(1) := $$(call brigade_value,$(1))
endif
ifeq ($$(origin $(1)),undefined)
$(1) := $$(exp_$(1))
endif
endef
$(foreach name,$(brigade_known),$(eval $(call brigade_setting,$(name))))
ifeq ($(origin CC),default)
CC := $(call brigade_value,CC)
endif
CFLAGS ?= $(call brigade_value,CFLAGS)

MKINSTALLDIRS ?= mkdir -p
COMPILE = $(CC) $(CFLAGS) -fPIC -D_GNU_SOURCE $(EXTRA_CPPFLAGS) $(DEFS) $(CPPFLAGS) $(INCLUDES) -I$(includedir)
SH_COMPILE = $(COMPILE)
SH_LINK = $(brigade_apxs) -c -o $@ $(LDFLAGS:%=-Wl,%) $(LIBS)

.PHONY: all install clean distclean extraclean all-recursive install-recursive clean-recursive distclean-recursive \
    local-all local-install local-clean local-distclean local-shared-build install-modules install-modules-yes \
    x-local-distclean

# The recipe that makes x.la is the makefile's own; x.lo is made by the way.
%.lo %.slo: %.c
	$(SH_COMPILE) -c $< -o $*.lo && touch $*.slo

all: all-recursive
install: install-recursive
clean: clean-recursive
distclean extraclean: distclean-recursive

all-recursive install-recursive clean-recursive distclean-recursive: %-recursive:
	@for folder in $(SUBDIRS); do $(MAKE) -C "$$folder" $* || exit 1; done
	@$(MAKE) local-$*

local-all: $(TARGETS)
local-install: $(TARGETS) $(INSTALL_TARGETS)
local-shared-build: $(shared)
install-modules install-modules-yes: local-shared-build
	@for module in $(shared); do $(brigade_apxs) -i -S LIBEXECDIR=$(libexecdir) "$$module" || exit 1; done

local-clean:
	rm -f *.o *.lo *.slo *.la *.so $(CLEAN_TARGETS)
local-distclean: local-clean x-local-distclean
	rm -f $(DISTCLEAN_TARGETS) $(EXTRACLEAN_TARGETS)
