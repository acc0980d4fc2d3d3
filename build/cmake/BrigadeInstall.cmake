# SPDX-License-Identifier: Apache-2.0
install(TARGETS brigade RUNTIME DESTINATION bin)
