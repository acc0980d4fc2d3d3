# SPDX-License-Identifier: Apache-2.0
# For makefiles of one module: rules.mk, with what the modules.mk beside the makefile says is to be made.
builddir ?= .
# Not the first rule of modules.mk:
.DEFAULT_GOAL := all
-include $(builddir)/modules.mk
include $(dir $(lastword $(filter %special.mk,$(MAKEFILE_LIST))))rules.mk

local-all: local-shared-build
local-install: install-modules
