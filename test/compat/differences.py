# SPDX-License-Identifier: Apache-2.0
"""Where Brigade answers otherwise than Apache 2.4.71, and why.

key -> (pattern of the requests that show it, as group/name; reason). ARCHITECTURE.md has each key, in bold, in its
section "Differences from Apache".
"""

DIFFERENCES = {
}
