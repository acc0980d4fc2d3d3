# SPDX-License-Identifier: Apache-2.0
"""Stock modules of Apache 2.4, as Debian's binaries: what each is asked, on Apache and on Brigade."""
